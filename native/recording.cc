// Recording: what JavaScript calls meanwhile becomes the instructions of a program.
#include "napi_call.h"

namespace whetstone {

namespace {

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

napi_value newKernel(Call &c) { return c.out(c.b.kernels.add(makeKernel(c.text(0), c.text(1), c.text(2), c.text(3), c.text(4)))); }

}  // namespace

void defineRecording(napi_env env, napi_value exports, Bridge *b) {
  define<beginRecording>(env, exports, "beginRecording", b);
  define<abandonRecording>(env, exports, "abandonRecording", b);
  define<endRecording>(env, exports, "endRecording", b);
  define<recordCall>(env, exports, "recordCall", b);
  define<special>(env, exports, "special", b);
  define<newKernel>(env, exports, "newKernel", b);
}

}  // namespace whetstone
