// Tagged doubles to ATen's values and back, guided by an operator's schema.
#pragma once

#include "bridge.h"

namespace whetstone {

// What one JavaScript thread owns: its tensors, generators, strings. No lock: only that thread touches it.
struct Store {
  Table<Tensor> tensors;
  Table<at::Generator> generators;
  std::vector<std::string> strings;

  const Tensor &tensor(double ref, const char *what);
};

// Being recorded: slots are named by `recorder * 2^24 + slot`, so a value of another recording is recognised.
struct Recording {
  int id = 0;
  std::shared_ptr<Program> program = std::make_shared<Program>();
  std::unordered_map<const void *, bool> seen;  // captured tensors
};

Op bindOperator(const std::string &name, const std::string &overload, const std::string &names);
// Reads the values the caller passed for `op`; `each` gets them in the schema's order.
void readArguments(Store &store, const Op &op, Reader &reader, Stack &stack);
std::vector<Arg> readRecorded(Store &store, Recording &recording, const Op &op, Reader &reader);
// A value without a schema, as special instructions take them; `recording` null: slots are refused.
Arg readFree(Store &store, Recording *recording, Reader &reader);

struct Writer {
  double *at, *end;
  void put(double value) {
    if (at >= end) throw ArgError("more results than the call has room for");
    *at++ = value;
  }
};
void write(Store &store, const IValue &value, Writer &writer);
// How many doubles `write` will put.
size_t roomFor(const IValue &value);

}  // namespace whetstone
