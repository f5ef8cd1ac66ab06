// The door to JavaScript: Node-API functions over the store, the recorder and the runner, each file's own at its end. Raw
// Node-API rather than a wrapper, because a call of an operator is one of these functions and nothing else.
#include "single_load.h"
#include "napi_call.h"
#include "memory.h"
#include "watchdog.h"

namespace whetstone {

static void cleanup(void *data) { static_cast<Bridge *>(data)->runner.close(); }

}  // namespace whetstone

NAPI_MODULE_INIT() {
  using namespace whetstone;
  if (secondCopy) {
    napi_throw_error(env, nullptr, "another copy of it is in this process already: two versions of the package, or two installations; keep one");
    return nullptr;
  }
  countCpuMemory();
  auto *b = new Bridge();
  napi_set_instance_data(env, b, [](napi_env, void *data, void *) { delete static_cast<Bridge *>(data); }, nullptr);
  napi_value name = nullptr;
  napi_create_string_utf8(env, "whetstone", NAPI_AUTO_LENGTH, &name);
  napi_create_threadsafe_function(env, nullptr, nullptr, name, 0, 1, nullptr, nullptr, nullptr, settle, &b->runner.done);
  napi_unref_threadsafe_function(env, b->runner.done);
  // Hooks run last in, first out: the runner stops while the function it reports through is still there.
  napi_add_env_cleanup_hook(env, cleanup, b);

  defineOperators(env, exports, b);
  defineTensors(env, exports, b);
  defineRecording(env, exports, b);
  defineRunning(env, exports, b);
  defineMachine(env, exports, b);
  defineWatchdog(env, exports);
  return exports;
}
