// Running: programs and copies on the runner's thread, answered by promises; captured graphs, and the streams all of it runs on.
#include "napi_call.h"

#include <ATen/Parallel.h>
#include <c10/core/Event.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>

namespace whetstone {

namespace {

std::vector<IValue> readInputs(Call &c, int count) {
  std::vector<IValue> inputs;
  Reader reader = c.b.reader();
  for (; count > 0; --count) inputs.push_back(readFree(c.b.store, nullptr, reader).value);
  return inputs;
}

void answer(napi_env env, Bridge &b, Job *job) {
  if (!job->error) {
    try {
      size_t size = 2;
      for (const IValue &value : job->results) size += roomFor(value);
      void *bytes = nullptr;
      napi_value buffer = nullptr, array = nullptr;
      if (napi_create_arraybuffer(env, size * sizeof(double), &bytes, &buffer) != napi_ok || napi_create_typedarray(env, napi_float64_array, size, buffer, 0, &array) != napi_ok)
        throw std::bad_alloc();
      auto *room = static_cast<double *>(bytes);
      Writer writer{room, room + size};
      writer.put(job->keep ? job->keep(job->results) : 0);
      writer.put(static_cast<double>(job->results.size()));
      for (const IValue &value : job->results) write(b.store, value, writer);
      napi_resolve_deferred(env, job->deferred, array);
      return;
    } catch (...) {
      job->error = std::current_exception();
    }
  }
  napi_reject_deferred(env, job->deferred, toError(env, job->error));
}

napi_value start(Call &c, std::function<std::vector<IValue>()> work, std::function<double(std::vector<IValue> &)> keep = nullptr) {
  return startOn(c, c.b.runner, std::move(work), std::move(keep));
}

// mailbox: the inputs
napi_value runProgram(Call &c) {
  auto program = c.b.item(c.b.programs, c.number(0), "a program");
  return start(c, [program, inputs = readInputs(c, c.integer(1))]() mutable { return execute(*program, std::move(inputs)); });
}

napi_value callProgram(Call &c) {
  auto program = c.b.item(c.b.programs, c.number(0), "a program");
  return c.results(execute(*program, readInputs(c, c.integer(1))));
}

napi_value releaseProgram(Call &c) { return c.out(c.b.programs.remove(c.number(0))); }

// A copy on the CPU, made on the runner: waiting for a GPU there does not stop the event loop.
napi_value toHost(Call &c) {
  const Tensor tensor = c.tensor(0);
  const auto copy = [tensor] {
    c10::AutoGradMode off(false);
    return std::vector<IValue>{tensor.detach().to(c10::kCPU, false, true).contiguous().resolve_neg()};
  };
  // With no program under way that could still write it, a small copy is done before the runner would have woken up.
  constexpr size_t kSmall = 1 << 17;
  if (c.b.runner.pending > 0 || !tensor.device().is_cpu() || tensor.nbytes() > kSmall) return start(c, copy);
  Job job;
  job.results = copy();
  napi_value promise = nullptr;
  if (napi_create_promise(c.env, &job.deferred, &promise) != napi_ok) throw ArgError("no promise can be made now");
  answer(c.env, c.b, &job);
  return promise;
}

napi_value captureProgram(Call &c) {
  auto program = c.b.item(c.b.programs, c.number(0), "a program");
  auto graph = std::make_shared<std::shared_ptr<Graph>>();
  const int warmups = c.integer(2);
  const auto beside = c.number(3) == 0 ? nullptr : c.b.item(c.b.graphs, c.number(3), "a captured program");
  Bridge &b = c.b;
  return start(
      c,
      [program, inputs = readInputs(c, c.integer(1)), warmups, beside, graph] {
        std::vector<IValue> outputs;
        *graph = captureGraph(*program, inputs, warmups, beside, outputs);
        return outputs;
      },
      [graph, &b](std::vector<IValue> &) { return b.graphs.add(*graph); });
}

napi_value replay(Call &c) {
  replayGraph(*c.b.item(c.b.graphs, c.number(0), "a captured program"));
  return c.nothing();
}

napi_value releaseGraph(Call &c) { return c.out(c.b.graphs.remove(c.number(0))); }

napi_value newStream(Call &c) {
  const c10::Device device = c.device(0);
  if (device.is_cpu()) throw ArgError("only a CUDA device has streams");
  const c10::impl::VirtualGuardImpl impl(device.type());
  const c10::Device exact(device.type(), device.index() < 0 ? impl.getDevice().index() : device.index());
  c.b.streams.push_back(impl.getStreamFromGlobalPool(exact));
  return c.out(static_cast<double>(c.b.streams.size() - 1));
}

c10::Stream streamAt(Call &c, size_t i) {
  const int index = c.integer(i);
  if (index < 0 || static_cast<size_t>(index) >= c.b.streams.size()) throw ArgError("an unknown stream");
  return c.b.streams[index];
}

// Makes a stream the current one; answers with the one before.
napi_value useStream(Call &c) {
  const c10::Stream stream = streamAt(c, 0);
  const c10::Stream before = c10::impl::VirtualGuardImpl(stream.device_type()).exchangeStream(stream);
  c.b.stream = stream;
  auto &known = c.b.streams;
  const auto found = std::find(known.begin(), known.end(), before);
  if (found != known.end()) return c.out(static_cast<double>(found - known.begin()));
  known.push_back(before);
  return c.out(static_cast<double>(known.size() - 1));
}

napi_value streamWaits(Call &c) {
  const c10::Stream waiting = streamAt(c, 0), other = streamAt(c, 1);
  c10::Event event(other.device_type());
  event.record(other);
  event.block(waiting);
  return c.nothing();
}

// Before libtorch 2.5 only a stream can be waited for; programs and eager calls use the current one unless told otherwise.
template <class Guard> void synchronizeAll(const Guard &impl, c10::Device device) {
  if constexpr (requires { impl.synchronizeDevice(device.index()); }) impl.synchronizeDevice(device.index());
  else impl.synchronizeStream(impl.getStream(device));
}

napi_value synchronize(Call &c) {
  const c10::Device device = c.device(0);
  return start(c, [device]() -> std::vector<IValue> {
    if (!device.is_cpu()) {
      const c10::impl::VirtualGuardImpl impl(device.type());
      synchronizeAll(impl, c10::Device(device.type(), device.index() < 0 ? impl.getDevice().index() : device.index()));
    }
    return {};
  });
}

}  // namespace

napi_value startOn(Call &c, Runner &runner, std::function<std::vector<IValue>()> work, std::function<double(std::vector<IValue> &)> keep) {
  auto job = std::make_unique<Job>();
  job->program = &runner == &c.b.runner;
  const bool enabled = c10::GradMode::is_enabled();
  // libtorch's number of threads is one of each thread, fixed when the thread first computes.
  job->work = [work = std::move(work), enabled, threads = at::get_num_threads(), stream = c.b.stream] {
    c10::GradMode::set_enabled(enabled);
    if (at::get_num_threads() != threads) at::set_num_threads(threads);
    if (stream) c10::impl::VirtualGuardImpl(stream->device_type()).exchangeStream(*stream);
    return work();
  };
  job->keep = std::move(keep);
  napi_value promise = nullptr;
  if (napi_create_promise(c.env, &job->deferred, &promise) != napi_ok) throw ArgError("no promise can be made now");
  runner.post(job.get());
  job.release();
  if (&runner == &c.b.runner) runner.pending++;
  if (c.b.awaited++ == 0) napi_ref_threadsafe_function(c.env, c.b.runner.done);
  return promise;
}

void settle(napi_env env, napi_value, void *, void *data) {
  std::unique_ptr<Job> job(static_cast<Job *>(data));
  if (!env) return;
  Bridge &b = *bridge(env);
  if (job->program) b.runner.pending--;
  if (--b.awaited == 0) napi_unref_threadsafe_function(env, b.runner.done);
  answer(env, b, job.get());
}

void defineRunning(napi_env env, napi_value exports, Bridge *b) {
  define<runProgram>(env, exports, "runProgram", b);
  define<callProgram>(env, exports, "callProgram", b);
  define<releaseProgram>(env, exports, "releaseProgram", b);
  define<toHost>(env, exports, "toHost", b);
  define<captureProgram>(env, exports, "captureProgram", b);
  define<replay>(env, exports, "replay", b);
  define<releaseGraph>(env, exports, "releaseGraph", b);
  define<newStream>(env, exports, "newStream", b);
  define<useStream>(env, exports, "useStream", b);
  define<streamWaits>(env, exports, "streamWaits", b);
  define<synchronize>(env, exports, "synchronize", b);
}

}  // namespace whetstone
