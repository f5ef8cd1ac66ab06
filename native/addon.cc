// The door to JavaScript: Node-API functions over the store, the recorder and the runner, each file's own at its end. Raw
// Node-API rather than a wrapper, because a call of an operator is one of these functions and nothing else.
#include "single_load.h"
#include "napi_call.h"
#include "memory.h"
#include "watchdog.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <cstdlib>
#endif

namespace whetstone {

// Some virtual machines announce AMX and hide the sizes of its tiles (CPUID leaf 0x1d is empty). oneDNN then fails to make
// 16-bit products, or ends the process with an invalid instruction. It is told to use AVX-512 there, before its first product.
static void avoidHalfAnnouncedAmx() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool announced = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d >> 24 & 1);
  if (!announced) return;
  const bool sized = __get_cpuid_count(0x1d, 0, &a, &b, &c, &d) && a > 0;
  if (!sized) setenv("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_FP16", 0);
#endif
}

static void cleanup(void *data) { static_cast<Bridge *>(data)->runner.close(); }

}  // namespace whetstone

NAPI_MODULE_INIT() {
  using namespace whetstone;
  if (secondCopy) {
    napi_throw_error(env, nullptr, "another copy of it is in this process already: two versions of the package, or two installations; keep one");
    return nullptr;
  }
  avoidHalfAnnouncedAmx();
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
  defineCollectives(env, exports, b);
  definePulse(env, exports, b);
  definePictures(env, exports, b);
  defineWatchdog(env, exports);
  return exports;
}
