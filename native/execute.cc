// Runs recorded programs: one loop over instructions, no JavaScript, any thread.
#include "bridge.h"

#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <sstream>

namespace whetstone {

thread_local const std::atomic<bool> *interrupted = nullptr;

namespace {

using torch::autograd::variable_list;

// The value an operator's schema wants from a slot: an integer slot may feed a float argument, nothing else is converted.
IValue fit(IValue value, Kind kind) {
  if (kind == Kind::Float && value.isInt()) return IValue(static_cast<double>(value.toInt()));
  const bool right = kind == Kind::Tensor    ? value.isTensor()
                     : kind == Kind::Tensors ? value.isTensorList()
                     : kind == Kind::Int    ? value.isInt()
                     : kind == Kind::Float  ? value.isDouble()
                     : kind == Kind::Scalar ? value.isInt() || value.isDouble() || value.isBool()
                     : kind == Kind::Bool   ? value.isBool()
                                            : false;
  if (!right && !(kind == Kind::Tensor && value.isNone())) throw ArgError("a recorded value is " + describe(value) + ", which the operator does not take here");
  return value;
}

IValue resolve(const Arg &arg, const std::vector<IValue> &slots) {
  if (arg.slot >= 0) return arg.expects.empty() ? slots[arg.slot] : fit(slots[arg.slot], arg.expects[0]);
  if (!arg.mixed) return arg.value;
  const Kind kind = arg.expects.empty() ? Kind::Other : arg.expects[0];
  if (kind == Kind::Int) {
    c10::List<int64_t> list;
    list.reserve(arg.items.size());
    for (const Arg &item : arg.items) list.push_back(integer(resolve(item, slots)));
    return list;
  }
  if (kind == Kind::Tensor && !arg.value.isBool()) {
    c10::List<Tensor> list;
    list.reserve(arg.items.size());
    for (const Arg &item : arg.items) list.push_back(resolve(item, slots).toTensor());
    return list;
  }
  if (kind == Kind::Tensor) {  // Tensor?[]; the marker is set when the instruction is decoded
    c10::List<std::optional<Tensor>> list;
    for (const Arg &item : arg.items) {
      IValue value = resolve(item, slots);
      list.push_back(value.isNone() ? std::optional<Tensor>() : value.toTensor());
    }
    return list;
  }
  if (kind == Kind::Float) {
    c10::List<double> list;
    for (const Arg &item : arg.items) list.push_back(fit(resolve(item, slots), Kind::Float).toDouble());
    return list;
  }
  throw ArgError("this kind of list cannot hold recorded values");
}

IValue arith(const std::string &what, const IValue &a, const IValue &b) {
  if (a.isDouble() || b.isDouble()) {
    const double x = a.toScalar().toDouble(), y = b.toScalar().toDouble();
    if (what == "add") return x + y;
    if (what == "sub") return x - y;
    if (what == "mul") return x * y;
    const double quotient = std::floor(x / y);
    return what == "mod" ? x - quotient * y : quotient;
  }
  const int64_t x = integer(a), y = integer(b);
  int64_t result = 0;
  bool overflow = false;
  if (what == "add") overflow = __builtin_add_overflow(x, y, &result);
  else if (what == "sub") overflow = __builtin_sub_overflow(x, y, &result);
  else if (what == "mul") overflow = __builtin_mul_overflow(x, y, &result);
  else if (y == 0) throw ArgError("integer division by zero");
  else if (y == -1) overflow = what != "mod" && __builtin_sub_overflow(int64_t{0}, x, &result);
  if (overflow) throw ArgError("the result of " + what + " does not fit into 64 bits");
  if (what == "add" || what == "sub" || what == "mul" || y == -1) return result;
  const int64_t quotient = x / y - ((x % y != 0) && ((x < 0) != (y < 0)));
  return what == "mod" ? x - quotient * y : quotient;
}

std::vector<IValue> special(const Instruction &in, std::vector<IValue> args) {
  const auto need = [&](size_t count) {
    if (args.size() < count) throw ArgError("the instruction is short of arguments");
  };
  switch (in.code) {
    case Code::Size: {
      need(2);
      return {args[0].toTensor().size(integer(args[1]))};
    }
    case Code::Arith: {
      need(3);
      return {arith(args[0].toStringRef(), args[1], args[2])};
    }
    case Code::Backward: {
      need(3);
      variable_list gradients;
      if (args[1].isTensor()) gradients.push_back(args[1].toTensor());
      torch::autograd::backward({args[0].toTensor()}, gradients, args[2].toBool());
      return {};
    }
    case Code::Gradient: {
      need(1);
      const Tensor gradient = args[0].toTensor().grad();
      return {gradient.defined() ? IValue(gradient) : IValue()};
    }
    case Code::SetGradient: {
      need(2);
      const Tensor tensor = args[0].toTensor(), gradient = args[1].isTensor() ? args[1].toTensor() : Tensor();
      if (gradient.defined() && (gradient.is_same(tensor) || gradient.sizes() != tensor.sizes() || gradient.scalar_type() != tensor.scalar_type() || gradient.device() != tensor.device()))
        throw ArgError("a gradient is another tensor of the same shape, dtype and device: " + describe(gradient) + " for " + describe(tensor));
      tensor.mutable_grad() = gradient;
      return {};
    }
    case Code::GradMode: {
      need(1);
      const bool before = c10::GradMode::is_enabled();
      c10::GradMode::set_enabled(args[0].toBool());
      return {before};
    }
    case Code::Item: {
      need(2);
      const auto list = args[0].toListRef();
      const int64_t index = integer(args[1]);
      if (index < 0 || index >= static_cast<int64_t>(list.size()))
        throw ArgError("item " + std::to_string(index) + " of a list of " + std::to_string(list.size()));
      return {list[index]};
    }
    case Code::Kernel: launch(*in.kernel, args); return {};
    case Code::Custom: need(1); return custom(in, std::move(args));
    case Code::Checkpoint: return checkpoint(in, std::move(args));
    case Code::Call: break;
  }
  throw ArgError("unknown instruction");
}

const char *codeName(Code code) {
  static const char *names[] = {"call", "size", "arithmetic", "backward", "grad", "grad mode", "item", "kernel", "custom function", "checkpoint", "set grad"};
  return names[static_cast<int>(code)];
}

}  // namespace

std::string describe(const IValue &value) try {
  std::ostringstream out;
  if (value.isTensor()) {
    const Tensor &tensor = value.toTensor();
    if (!tensor.defined()) return "no tensor";
    out << c10::toString(tensor.scalar_type()) << tensor.sizes() << ' ' << tensor.device();
  } else if (value.isTensorList()) {
    out << "Tensor[" << value.toTensorList().size() << ']';
  } else if (value.isNone()) {
    out << "null";
  } else if (value.isString()) {
    out << '"' << value.toStringRef() << '"';
  } else if (value.isInt() || value.isDouble() || value.isBool() || value.isIntList() || value.isDoubleList()) {
    out << value;
  } else {
    out << value.tagKind();
  }
  return out.str();
} catch (const std::exception &) {
  return "?";  // some layouts have no sizes to show; the error being described matters more
}

std::string message(const std::exception &error) {
  if (const auto *c10error = dynamic_cast<const c10::Error *>(&error)) return c10error->what_without_backtrace();
  return error.what();
}

bool outOfMemory(const std::exception &error) {
  if (dynamic_cast<const c10::OutOfMemoryError *>(&error) || dynamic_cast<const std::bad_alloc *>(&error)) return true;
  const auto *program = dynamic_cast<const ProgramError *>(&error);
  if (program) return program->memory;
  const std::string text = error.what();
  return text.find("can't allocate memory") != std::string::npos || text.find("not enough memory") != std::string::npos;
}

// What went wrong in an instruction, with its arguments and the line that recorded it.
static ProgramError failure(const Instruction &in, const std::vector<IValue> &slots, const std::exception &error) {
  std::ostringstream text;
  text << (in.op ? in.op->name : codeName(in.code)) << ": " << message(error);
  if (in.op) {
    text << " (";
    for (size_t i = 0; i < in.args.size(); ++i) {
      std::string value;
      try { value = describe(resolve(in.args[i], slots)); } catch (const std::exception &) { value = "?"; }
      text << (i ? ", " : "") << in.op->args[i].name << ": " << value;
    }
    text << ')';
  }
  return {text.str(), in.where, outOfMemory(error), dynamic_cast<const ArgError *>(&error) != nullptr};
}

std::vector<IValue> perform(const Instruction &in, const std::vector<IValue> &slots) {
  Stack stack;
  stack.reserve(in.args.size());
  try {
    for (const Arg &arg : in.args) stack.push_back(resolve(arg, slots));
    if (in.code == Code::Call) {
      in.op->handle.callBoxed(&stack);
      return stack;
    }
    return special(in, std::move(stack));
  } catch (const ProgramError &) {
    throw;  // from a program this one called: its own line is the more useful one
  } catch (const std::exception &error) {
    throw failure(in, slots, error);
  }
}

std::vector<IValue> execute(const Program &program, std::vector<IValue> inputs) {
  if (inputs.size() != program.inputs.size())
    throw ArgError("the program takes " + std::to_string(program.inputs.size()) + " inputs, got " + std::to_string(inputs.size()));
  // A program that fails between switching gradients off and on again leaves the thread as it found it.
  struct Restore {
    bool enabled = c10::GradMode::is_enabled();
    ~Restore() { c10::GradMode::set_enabled(enabled); }
  } restore;
  std::vector<IValue> slots(program.slots);
  for (size_t i = 0; i < inputs.size(); ++i) slots[program.inputs[i]] = std::move(inputs[i]);
  const std::atomic<bool> *stop = interrupted;
  Stack stack;
  for (const Instruction &in : program.code) {
    if (stop && stop->load(std::memory_order_relaxed)) throw ProgramError("the thread that started the program has ended", in.where, false, false);
    if (in.code == Code::Call) {
      // The common case, without perform()'s vectors: the stack is the same one for every operator.
      stack.clear();
      try {
        for (const Arg &arg : in.args) {
          if (arg.slot < 0 && !arg.mixed) stack.push_back(arg.value);
          else if (arg.slot >= 0 && slots[arg.slot].isTensor() && arg.expects[0] == Kind::Tensor) stack.push_back(slots[arg.slot]);
          else stack.push_back(resolve(arg, slots));
        }
        in.op->handle.callBoxed(&stack);
      } catch (const ProgramError &) {
        throw;
      } catch (const std::exception &error) {
        throw failure(in, slots, error);
      }
      for (size_t i = 0; i < in.results.size() && i < stack.size(); ++i) slots[in.results[i]] = std::move(stack[i]);
      for (int slot : in.dies) slots[slot] = IValue();
      continue;
    }
    std::vector<IValue> values = perform(in, slots);
    for (size_t i = 0; i < in.results.size() && i < values.size(); ++i) slots[in.results[i]] = std::move(values[i]);
    for (int slot : in.dies) slots[slot] = IValue();
  }
  std::vector<IValue> outputs;
  outputs.reserve(program.outputs.size());
  for (int slot : program.outputs) outputs.push_back(slots[slot]);
  return outputs;
}

void finish(Program &program) {
  std::vector<int> last(program.slots, -1);
  const std::function<void(const Arg &, int)> visit = [&](const Arg &arg, int at) {
    if (arg.slot >= 0) last[arg.slot] = at;
    for (const Arg &item : arg.items) visit(item, at);
  };
  for (size_t i = 0; i < program.code.size(); ++i) {
    for (int slot : program.code[i].results) last[slot] = static_cast<int>(i);
    for (const Arg &arg : program.code[i].args) visit(arg, static_cast<int>(i));
  }
  for (int slot : program.outputs) last[slot] = -1;
  for (int slot = 0; slot < program.slots; ++slot)
    if (last[slot] >= 0) program.code[last[slot]].dies.push_back(slot);
}

}  // namespace whetstone
