// The machine: randomness, threads, memory, and what libtorch found here.
#include "napi_call.h"
#include "memory.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <torch/version.h>

namespace whetstone {

namespace {

uint64_t seedOf(Call &c, size_t i) {
  int64_t seed = 0;
  bool lossless = false;
  if (i >= c.count || napi_get_value_bigint_int64(c.env, c.values[i], &seed, &lossless) != napi_ok) throw ArgError("a seed is a bigint");
  return static_cast<uint64_t>(seed);
}

napi_value manualSeed(Call &c) {
  at::manual_seed(seedOf(c, 0));
  return c.nothing();
}

at::Generator &generatorAt(Call &c) {
  at::Generator *generator = c.b.store.generators.get(c.number(0));
  if (!generator) throw ArgError("a generator that was disposed");
  return *generator;
}

napi_value newGenerator(Call &c) {
  const c10::Device device = c.device(0);
  at::Generator generator = device.is_cpu() ? at::detail::createCPUGenerator() : at::globalContext().defaultGenerator(device).clone();
  generator.set_current_seed(seedOf(c, 2));
  return c.out(c.b.store.generators.add(generator));
}

napi_value generatorState(Call &c) {
  at::Generator &generator = generatorAt(c);
  std::lock_guard<std::mutex> lock(generator.mutex());  // a program may be drawing from it
  if (c.count < 2) return c.out(c.b.store.tensors.add(generator.get_state()));
  generator.set_state(c.tensor(1));
  return c.nothing();
}

napi_value releaseGenerator(Call &c) { return c.out(c.b.store.generators.remove(c.number(0))); }

napi_value threads(Call &c) {
  if (c.count > 0) {
    const int count = c.integer(0);
    if (count < 1 || count > 4096) throw ArgError("a number of threads is between 1 and 4096");
    at::set_num_threads(count);
  }
  return c.out(at::get_num_threads());
}

napi_value memory(Call &c) {
  const c10::Device device = c.device(0);
  const bool reset = c.boolean(2);
  if (reset) c.b.store.tensors.peak = c.b.store.tensors.live;
  const auto figures = device.is_cpu() ? cpuMemory(reset) : cudaMemory(device.index() < 0 ? 0 : device.index(), reset);
  Writer writer = c.b.writer();
  for (const double figure : figures) writer.put(figure);
  writer.put(static_cast<double>(c.b.store.tensors.live));
  writer.put(static_cast<double>(c.b.store.tensors.peak));
  return c.nothing();
}

napi_value freeMemory(Call &c) {
  const c10::Device device = c.device(0);
  return c.out(cudaFreeMemory(device.index() < 0 ? 0 : device.index()));
}

napi_value machine(Call &c) {
  napi_value result = nullptr, devices = nullptr;
  napi_create_object(c.env, &result);
  const auto set = [&](napi_value object, const char *name, napi_value value) { napi_set_named_property(c.env, object, name, value); };
  set(result, "libtorchVersion", c.out(std::string(TORCH_VERSION)));
  set(result, "operatorCount", c.out(static_cast<double>(c10::Dispatcher::singleton().getAllOpNames().size())));
  set(result, "config", c.out(at::show_config()));
  set(result, "cuda", c.out(at::hasCUDA() ? 1.0 : 0.0));
  set(result, "graphs", c.out(cudaGraphsBuilt() ? 1.0 : 0.0));
  napi_create_array(c.env, &devices);
  uint32_t i = 0;
  for (const CudaDevice &device : cudaDevices()) {
    napi_value entry = nullptr;
    napi_create_object(c.env, &entry);
    set(entry, "name", c.out(device.name));
    set(entry, "totalBytes", c.out(device.bytes));
    set(entry, "capability", c.out(device.major + device.minor / 10.0));
    set(entry, "multiprocessors", c.out(static_cast<double>(device.multiprocessors)));
    napi_set_element(c.env, devices, i++, entry);
  }
  set(result, "devices", devices);
  return result;
}

}  // namespace

void defineMachine(napi_env env, napi_value exports, Bridge *b) {
  define<manualSeed>(env, exports, "manualSeed", b);
  define<newGenerator>(env, exports, "newGenerator", b);
  define<generatorState>(env, exports, "generatorState", b);
  define<releaseGenerator>(env, exports, "releaseGenerator", b);
  define<threads>(env, exports, "threads", b);
  define<memory>(env, exports, "memory", b);
  define<freeMemory>(env, exports, "freeMemory", b);
  define<machine>(env, exports, "machine", b);
}

}  // namespace whetstone
