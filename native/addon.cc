// The door to JavaScript: Node-API functions over the store, the recorder and the runner. Raw Node-API rather than a
// wrapper, because a call of an operator is one of these functions and nothing else.
#include "door.h"
#include "memory.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <ATen/ops/empty.h>
#include <c10/core/Event.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/version.h>

#include <algorithm>
#include <cstring>
#include <sstream>

namespace whetstone {

namespace {

// ---- operators

// Makes the mailbox as large as asked, at least. With a function: it is given this mailbox and every later one.
napi_value mailbox(Call &c) {
  const int size = c.integer(0);
  if (size < 0) throw ArgError("a negative size");
  if (c.count > 1) {
    napi_valuetype type;
    if (napi_typeof(c.env, c.values[1], &type) != napi_ok || type != napi_function) throw ArgError("argument 1 is not a function");
    napi_ref taker = nullptr;
    if (napi_create_reference(c.env, c.values[1], 1, &taker) != napi_ok) throw ArgError("the function cannot be kept");
    if (c.b.onMailbox) napi_delete_reference(c.env, c.b.onMailbox);
    c.b.onMailbox = taker;
  }
  if (!c.b.onMailbox) throw ArgError("nobody takes the mailbox");
  c.growMailbox(std::max<size_t>(size, c.count > 1 ? c.b.boxSize + 1 : 0));
  return c.nothing();
}

// Bound operators are shared by all threads and never freed: a program on any thread may hold one.
const Op *shared(const std::string &name, const std::string &overload, const std::string &names) {
  static std::mutex mutex;
  static auto &ops = *new std::unordered_map<std::string, std::unique_ptr<Op>>();
  std::lock_guard<std::mutex> lock(mutex);
  auto &slot = ops[name + "\n" + overload + "\n" + names];
  if (!slot) slot = std::make_unique<Op>(bindOperator(name, overload, names));
  return slot.get();
}

napi_value bind(Call &c) {
  c.b.ops.push_back(shared(c.text(0), c.text(1), c.text(2)));
  return c.out(static_cast<double>(c.b.ops.size() - 1));
}

const Op &operatorAt(Call &c, size_t i) {
  const int index = c.integer(i);
  if (index < 0 || static_cast<size_t>(index) >= c.b.ops.size()) throw ArgError("an operator that was not bound");
  return *c.b.ops[index];
}

napi_value call(Call &c) {
  const Op &op = operatorAt(c, 0);
  Stack &stack = c.b.stack;
  // Whatever happens, the arguments are not held until the next call.
  const struct Clear {
    Stack &stack;
    ~Clear() { stack.clear(); }
  } clear{stack};
  Reader reader = c.b.reader();
  try {
    readArguments(c.b.store, op, reader, stack);
  } catch (const ArgError &error) {
    throw ArgError(op.name + ": " + error.what());
  }
  try {
    op.handle.callBoxed(&stack);
  } catch (const std::exception &error) {
    std::ostringstream text;
    text << op.name << ": " << message(error) << " (";
    stack.clear();
    Reader again = c.b.reader();
    readArguments(c.b.store, op, again, stack);
    for (size_t i = 0; i < stack.size(); ++i) text << (i ? ", " : "") << op.args[i].name << ": " << describe(stack[i]);
    throw ProgramError(text.str() + ")", "", outOfMemory(error), false);
  }
  return op.written >= 0 ? c.out(0) : c.results(std::move(stack));
}

// What a call of a bound operator takes and gives, for callers that do not know it: names and types of its arguments, types
// of its results, and the argument that is its only result (-1: none).
napi_value signature(Call &c) {
  const Op &op = operatorAt(c, 0);
  napi_value result = nullptr, types = nullptr, results = nullptr;
  napi_create_object(c.env, &result);
  napi_create_array(c.env, &types);
  napi_create_array(c.env, &results);
  uint32_t i = 0, j = 0;
  for (const Spec &spec : op.args) napi_set_element(c.env, types, i++, c.out(spec.type));
  for (const c10::Argument &returned : op.handle.schema().returns()) napi_set_element(c.env, results, j++, c.out(returned.real_type()->str()));
  napi_set_named_property(c.env, result, "types", types);
  napi_set_named_property(c.env, result, "results", results);
  napi_set_named_property(c.env, result, "written", c.out(static_cast<double>(op.written)));
  return result;
}

// The names of an operator's arguments, as `bind` takes them.
napi_value argumentNames(Call &c) {
  const auto handle = c10::Dispatcher::singleton().findSchema({c.text(0), c.text(1)});
  if (!handle) throw ArgError("this libtorch has no operator " + c.text(0) + (c.text(1).empty() ? "" : "." + c.text(1)));
  std::string names;
  for (const c10::Argument &argument : handle->schema().arguments()) names += (names.empty() ? "" : ",") + argument.name();
  return c.out(names);
}

napi_value schemas(Call &c) {
  napi_value list = nullptr;
  napi_create_array(c.env, &list);
  uint32_t i = 0;
  for (const auto &name : c10::Dispatcher::singleton().getAllOpNames()) {
    const auto handle = c10::Dispatcher::singleton().findSchema(name);
    if (!handle) continue;
    std::ostringstream text;
    text << handle->schema();
    napi_set_element(c.env, list, i++, c.out(text.str()));
  }
  return list;
}

napi_value intern(Call &c) {
  const std::string text = c.text(0);
  const auto [at, fresh] = c.b.interned.emplace(text, static_cast<double>(c.b.store.strings.size()));
  if (fresh) c.b.store.strings.push_back(text);
  return c.out(at->second);
}

// ---- tensors

// V8 is told of changes in native memory when they have come to something: telling it costs as much as a small operator.
void tell(Call &c, int64_t bytes) {
  constexpr int64_t kWorthTelling = 1 << 18;
  c.b.untold += bytes;
  if (std::abs(c.b.untold) < kWorthTelling) return;
  int64_t now = 0;
  napi_adjust_external_memory(c.env, c.b.untold, &now);
  c.b.untold = 0;
}

bool drop(Call &c, double ref) {
  const int64_t *told = c.b.store.tensors.told(ref);
  if (!told) return false;
  if (*told) tell(c, -*told);
  return c.b.store.tensors.remove(ref);
}

napi_value release(Call &c) { return c.out(drop(c, c.number(0))); }

napi_value releaseMany(Call &c) {
  const int count = c.integer(0);
  if (count < 0 || static_cast<size_t>(count) > c.b.boxSize) throw ArgError("more refs than the mailbox holds");
  for (int i = 0; i < count; ++i) drop(c, c.b.box[i]);
  return c.nothing();
}

napi_value alias(Call &c) { return c.out(c.b.store.tensors.add(c.tensor(0))); }

napi_value meta(Call &c) {
  const Tensor &tensor = c.tensor(0);
  Writer writer = c.b.writer();
  writer.put(static_cast<double>(tensor.scalar_type()));
  writer.put(static_cast<double>(tensor.device().type()));
  writer.put(tensor.device().index());
  writer.put(tensor.requires_grad());
  writer.put(tensor.is_leaf());
  writer.put(tensor.is_contiguous());
  writer.put(static_cast<double>(tensor.itemsize()));
  writer.put(static_cast<double>(tensor.storage_offset()));
  writer.put(static_cast<double>(tensor.dim()));
  for (const int64_t size : tensor.sizes()) writer.put(static_cast<double>(size));
  return c.nothing();
}

napi_value fromBytes(Call &c) {
  const auto [data, size] = c.bytes(0);
  const int dtype = c.integer(1), dims = c.integer(2);
  if (dtype < 0 || dtype >= static_cast<int>(c10::ScalarType::NumOptions)) throw ArgError("an unknown dtype");
  if (dims < 0 || dims > 64 || static_cast<size_t>(dims) > c.b.boxSize) throw ArgError("a tensor has 64 dimensions at most");
  std::vector<int64_t> shape;
  double elements = 1;
  for (int i = 0; i < dims; ++i) {
    if (!(c.b.box[i] >= 0 && c.b.box[i] < 1e15) || c.b.box[i] != std::floor(c.b.box[i])) throw ArgError("a shape is made of whole numbers, got " + std::to_string(c.b.box[i]));
    shape.push_back(static_cast<int64_t>(c.b.box[i]));
    elements *= c.b.box[i];
  }
  const auto type = static_cast<c10::ScalarType>(dtype);
  if (type == c10::ScalarType::Undefined || c10::isQIntType(type)) throw ArgError("an unknown dtype");
  // Before anything is allocated: a wrong shape is the caller's mistake, not a lack of memory.
  const double needed = elements * static_cast<double>(c10::elementSize(type));
  if (needed != static_cast<double>(size)) throw ArgError("the array has " + std::to_string(size) + " bytes, the shape needs " + (needed < 1e15 ? std::to_string(static_cast<int64_t>(needed)) : "more than there are"));
  const Tensor tensor = at::empty(shape, at::TensorOptions(type));
  if (size) memcpy(tensor.data_ptr(), data, size);
  return c.out(c.b.store.tensors.add(tensor));
}

napi_value readInto(Call &c) {
  const Tensor tensor = c.tensor(0).detach().to(c10::kCPU).contiguous().resolve_neg();
  const auto [data, size] = c.bytes(1);
  if (tensor.nbytes() != size) throw ArgError("the array has " + std::to_string(size) + " bytes, the tensor " + std::to_string(tensor.nbytes()));
  const void *source = tensor.const_data_ptr();
  if (size && !source) throw ArgError("a tensor without memory");
  if (size) memcpy(data, source, size);
  return c.nothing();
}

// A view of a CPU tensor's memory; the memory lives at least as long as the view.
napi_value memoryOf(Call &c) {
  const Tensor &tensor = c.tensor(0);
  if (!tensor.device().is_cpu() || tensor.layout() != c10::kStrided || tensor.is_neg() || !tensor.is_contiguous()) throw ArgError("the memory of a tensor is visible only where it is contiguous and on the CPU");
  napi_value buffer = nullptr;
  if (tensor.nbytes() == 0) {
    void *none = nullptr;
    napi_create_arraybuffer(c.env, 0, &none, &buffer);
    return buffer;
  }
  if (!tensor.data_ptr()) throw ArgError("a tensor without memory");
  // A resize would move the memory away from under the view.
  tensor.storage().unsafeGetStorageImpl()->set_resizable(false);
  auto *held = new Tensor(tensor.detach());
  const auto drop = [](napi_env, void *, void *hint) { delete static_cast<Tensor *>(hint); };
  if (napi_create_external_arraybuffer(c.env, held->data_ptr(), held->nbytes(), drop, held, &buffer) != napi_ok) {
    delete held;
    throw ArgError("this runtime does not allow views of native memory");
  }
  return buffer;
}

napi_value setRequiresGrad(Call &c) {
  Tensor tensor = c.tensor(0);
  tensor.set_requires_grad(c.boolean(1));
  return c.nothing();
}

napi_value gradEnabled(Call &c) {
  const bool before = c10::GradMode::is_enabled();
  if (c.count > 0) c10::GradMode::set_enabled(c.boolean(0));
  return c.out(before);
}

// mailbox: outputs, inputs, gradients (each a list of refs); flags: retain, create, allow unused.
napi_value gradients(Call &c) {
  Reader reader = c.b.reader();
  const auto list = [&] {
    torch::autograd::variable_list tensors;
    const double count = reader.next();
    for (int i = 0; i < count; ++i) tensors.push_back(c.b.store.tensor(reader.next(), "a tensor"));
    return tensors;
  };
  const auto outputs = list();
  const auto inputs = list();
  const auto arriving = list();
  std::vector<IValue> found;
  for (const Tensor &gradient : torch::autograd::grad(outputs, inputs, arriving, c.boolean(0), c.boolean(1), true)) found.emplace_back(gradient.defined() ? IValue(gradient) : IValue());
  c.growMailbox(3 * found.size());
  Writer writer = c.b.writer();
  for (const IValue &value : found) write(c.b.store, value, writer);
  return c.out(-static_cast<double>(found.size()));
}

// ---- recording and running

Recording &recording(Call &c) {
  if (c.b.recordings.empty()) throw ArgError("nothing is being recorded");
  return *c.b.recordings.back();
}

double slotRef(const Recording &recording, int slot) { return recording.id * 16777216.0 + slot; }

napi_value beginRecording(Call &c) {
  auto fresh = std::make_shared<Recording>();
  fresh->id = c.b.nextRecording++;
  const int inputs = c.integer(0);
  if (inputs < 0 || inputs > 0xffff) throw ArgError("a program has between 0 and 65535 inputs");
  for (int i = 0; i < inputs; ++i) fresh->program->inputs.push_back(fresh->program->slots++);
  c.b.recordings.push_back(fresh);
  return c.out(slotRef(*fresh, 0));
}

napi_value abandonRecording(Call &c) {
  recording(c);
  c.b.recordings.pop_back();
  return c.nothing();
}

// mailbox: the outputs, each a recorded value or null
napi_value endRecording(Call &c) {
  Recording &current = recording(c);
  Reader reader = c.b.reader();
  for (int count = c.integer(0); count > 0; --count) {
    Arg arg = readFree(c.b.store, &current, reader);
    if (arg.slot < 0 && arg.value.isNone()) arg.slot = current.program->slots++;  // a slot nothing fills stays null
    if (arg.slot < 0) throw ArgError("a program returns values that it computed");
    current.program->outputs.push_back(arg.slot);
  }
  finish(*current.program);
  const double ref = c.b.programs.add(current.program);
  c.b.recordings.pop_back();
  return c.out(ref);
}

napi_value append(Call &c, Instruction instruction, int results) {
  Recording &current = recording(c);
  Program &program = *current.program;
  if (results < 0 || program.slots + results > 0xffffff) throw ArgError("the program is too long");
  const int first = program.slots;
  for (int i = 0; i < results; ++i) instruction.results.push_back(program.slots++);
  program.random = program.random || (instruction.op && instruction.op->random) || (instruction.first && instruction.first->random);
  if (instruction.first)
    for (const Tensor &tensor : instruction.first->captured)
      if (current.seen.emplace(tensor.unsafeGetTensorImpl(), true).second) program.captured.push_back(tensor);
  for (const Arg &arg : instruction.args)
    if (arg.value.isGenerator()) program.generators.push_back(arg.value.toGenerator());
  if (instruction.first) program.generators.insert(program.generators.end(), instruction.first->generators.begin(), instruction.first->generators.end());
  program.code.push_back(std::move(instruction));
  return c.out(slotRef(current, first));
}

napi_value recordCall(Call &c) {
  const Op &op = operatorAt(c, 0);
  Instruction instruction;
  instruction.op = &op;
  instruction.where = c.text(1);
  Reader reader = c.b.reader();
  try {
    instruction.args = readRecorded(c.b.store, recording(c), op, reader);
  } catch (const ArgError &error) {
    throw ArgError(op.name + ": " + error.what());
  }
  const int results = op.written >= 0 ? 0 : static_cast<int>(op.handle.schema().returns().size());
  return append(c, std::move(instruction), results);
}

// An instruction that is not an operator; recorded, or performed at once. arguments: code, how many values are in the
// mailbox, how many results, the line, first and second handle (a kernel, or a function's programs).
napi_value special(Call &c) {
  Instruction instruction;
  const int code = c.integer(0);
  if (code <= 0 || code > static_cast<int>(Code::SetGradient)) throw ArgError("an unknown instruction");
  instruction.code = static_cast<Code>(code);
  instruction.where = c.text(3);
  if (instruction.code == Code::Kernel) instruction.kernel = c.b.item(c.b.kernels, c.number(4), "a kernel");
  if (instruction.code == Code::Custom || instruction.code == Code::Checkpoint) instruction.first = c.b.item(c.b.programs, c.number(4), "a program");
  if (instruction.code == Code::Custom) instruction.second = c.b.item(c.b.programs, c.number(5), "a program");
  Reader reader = c.b.reader();
  Recording *current = c.b.recordings.empty() ? nullptr : c.b.recordings.back().get();
  for (int count = c.integer(1); count > 0; --count) instruction.args.push_back(readFree(c.b.store, current, reader));
  if (current) return append(c, std::move(instruction), c.integer(2));
  return c.results(perform(instruction, {}));
}

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

void settle(napi_env env, napi_value, void *, void *data) {
  std::unique_ptr<Job> job(static_cast<Job *>(data));
  if (!env) return;
  Bridge &b = *bridge(env);
  if (--b.runner.pending == 0) napi_unref_threadsafe_function(env, b.runner.done);
  answer(env, b, job.get());
}

napi_value start(Call &c, std::function<std::vector<IValue>()> work, std::function<double(std::vector<IValue> &)> keep = nullptr) {
  auto job = std::make_unique<Job>();
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
  c.b.runner.post(job.get());
  job.release();
  if (c.b.runner.pending++ == 0) napi_ref_threadsafe_function(c.env, c.b.runner.done);
  return promise;
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
  Bridge &b = c.b;
  return start(
      c,
      [program, inputs = readInputs(c, c.integer(1)), warmups, graph] {
        std::vector<IValue> outputs;
        *graph = captureGraph(*program, inputs, warmups, outputs);
        return outputs;
      },
      [graph, &b](std::vector<IValue> &) { return b.graphs.add(*graph); });
}

napi_value replay(Call &c) {
  replayGraph(*c.b.item(c.b.graphs, c.number(0), "a captured program"));
  return c.nothing();
}

napi_value releaseGraph(Call &c) { return c.out(c.b.graphs.remove(c.number(0))); }

napi_value newKernel(Call &c) { return c.out(c.b.kernels.add(makeKernel(c.text(0), c.text(1), c.text(2), c.text(3), c.text(4)))); }

// ---- randomness, devices, the machine

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

// Tells V8 of the bytes that hang on a tensor it may collect. Leaves the mailbox alone.
napi_value leaveToCollector(Call &c) {
  const Tensor &tensor = c.tensor(0);
  // A view, or a second handle, brings no memory of its own; an expanded tensor has fewer bytes than elements.
  const bool own = tensor.has_storage() && !tensor.is_view() && tensor.use_count() == 1;
  const int64_t bytes = own ? static_cast<int64_t>(tensor.storage().nbytes()) : 0;
  int64_t &told = *c.b.store.tensors.told(c.number(0));
  tell(c, bytes - told);
  told = bytes;
  return c.nothing();
}

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

template <napi_value (*Body)(Call &)> void define(napi_env env, napi_value exports, const char *name, Bridge *b) {
  napi_value function = nullptr;
  napi_create_function(env, name, NAPI_AUTO_LENGTH, guarded<Body>, b, &function);
  napi_set_named_property(env, exports, name, function);
}

void cleanup(void *data) { static_cast<Bridge *>(data)->runner.close(); }

}  // namespace

}  // namespace whetstone

NAPI_MODULE_INIT() {
  using namespace whetstone;
  countCpuMemory();
  auto *b = new Bridge();
  napi_set_instance_data(env, b, [](napi_env, void *data, void *) { delete static_cast<Bridge *>(data); }, nullptr);
  napi_value name = nullptr;
  napi_create_string_utf8(env, "whetstone", NAPI_AUTO_LENGTH, &name);
  napi_create_threadsafe_function(env, nullptr, nullptr, name, 0, 1, nullptr, nullptr, nullptr, settle, &b->runner.done);
  napi_unref_threadsafe_function(env, b->runner.done);
  // Hooks run last in, first out: the runner stops while the function it reports through is still there.
  napi_add_env_cleanup_hook(env, cleanup, b);

  define<mailbox>(env, exports, "mailbox", b);
  define<bind>(env, exports, "bind", b);
  define<call>(env, exports, "call", b);
  define<signature>(env, exports, "signature", b);
  define<argumentNames>(env, exports, "argumentNames", b);
  define<schemas>(env, exports, "schemas", b);
  define<intern>(env, exports, "intern", b);
  define<release>(env, exports, "release", b);
  define<releaseMany>(env, exports, "releaseMany", b);
  define<alias>(env, exports, "alias", b);
  define<meta>(env, exports, "meta", b);
  define<fromBytes>(env, exports, "fromBytes", b);
  define<readInto>(env, exports, "readInto", b);
  define<memoryOf>(env, exports, "memoryOf", b);
  define<setRequiresGrad>(env, exports, "setRequiresGrad", b);
  define<gradEnabled>(env, exports, "gradEnabled", b);
  define<gradients>(env, exports, "gradients", b);
  define<beginRecording>(env, exports, "beginRecording", b);
  define<abandonRecording>(env, exports, "abandonRecording", b);
  define<endRecording>(env, exports, "endRecording", b);
  define<recordCall>(env, exports, "recordCall", b);
  define<special>(env, exports, "special", b);
  define<runProgram>(env, exports, "runProgram", b);
  define<callProgram>(env, exports, "callProgram", b);
  define<releaseProgram>(env, exports, "releaseProgram", b);
  define<toHost>(env, exports, "toHost", b);
  define<captureProgram>(env, exports, "captureProgram", b);
  define<replay>(env, exports, "replay", b);
  define<releaseGraph>(env, exports, "releaseGraph", b);
  define<newKernel>(env, exports, "newKernel", b);
  define<manualSeed>(env, exports, "manualSeed", b);
  define<newGenerator>(env, exports, "newGenerator", b);
  define<generatorState>(env, exports, "generatorState", b);
  define<releaseGenerator>(env, exports, "releaseGenerator", b);
  define<threads>(env, exports, "threads", b);
  define<memory>(env, exports, "memory", b);
  define<leaveToCollector>(env, exports, "leaveToCollector", b);
  define<newStream>(env, exports, "newStream", b);
  define<useStream>(env, exports, "useStream", b);
  define<streamWaits>(env, exports, "streamWaits", b);
  define<synchronize>(env, exports, "synchronize", b);
  define<machine>(env, exports, "machine", b);
  return exports;
}
