// Watches code that JavaScript gave control to, and ends the process where it never comes back.
#pragma once

#include <node_api.h>

namespace whetstone {

void defineWatchdog(napi_env env, napi_value exports);

}  // namespace whetstone
