// Operators are registered once in a process, when the library is loaded, and libtorch ends a process that registers one
// again. A second copy of the bridge (two versions of the package) therefore registers nothing, and says so when it is opened.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

namespace whetstone {

inline bool secondCopy = false;

// Whether operators of which `first` is one are still to be registered.
inline bool registers(const char *first) {
  if (c10::Dispatcher::singleton().findSchema({first, ""})) secondCopy = true;
  return !secondCopy;
}

}  // namespace whetstone
