// Runs recorded programs: one loop over instructions, no JavaScript, any thread.
#include "bridge.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/ops/add.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>

#include <cmath>
#include <sstream>

namespace whetstone {

thread_local const std::atomic<bool> *interrupted = nullptr;

namespace {

using torch::autograd::Node;
using torch::autograd::SavedVariable;
using torch::autograd::variable_list;

// libtorch 2.12 changed how graph nodes are counted; the compiler picks the way of the one it sees.
template <class N> auto makeNode() {
  if constexpr (std::is_base_of_v<c10::intrusive_ptr_target, N>) return c10::make_intrusive<N>();
  else return std::shared_ptr<N>(new N(), [](N *node) { deleteNode(node); });  // takes long chains apart without recursion
}
template <class N> auto self(N *node) {
  if constexpr (std::is_base_of_v<c10::intrusive_ptr_target, N>) return c10::intrusive_ptr<N>::reclaim_copy(node);
  else return node->shared_from_this();
}

int64_t integer(const IValue &value) {
  if (value.isInt()) return value.toInt();
  throw ArgError("expected an integer, got " + describe(value));
}

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

// The gradient of a hand-written function: the recorded backward runs on whichever thread the engine chose.
struct CustomNode : Node {
  std::shared_ptr<Program> backward;
  std::vector<SavedVariable> saved;
  std::vector<IValue> numbers;
  std::vector<std::pair<std::vector<int64_t>, at::TensorOptions>> outputs;

  variable_list apply(variable_list &&gradients) override {
    std::vector<IValue> inputs;
    for (const SavedVariable &variable : saved) inputs.emplace_back(variable.unpack(self(this)));
    for (size_t i = 0; i < gradients.size(); ++i)
      inputs.emplace_back(gradients[i].defined() ? gradients[i] : at::zeros(outputs[i].first, outputs[i].second));
    inputs.insert(inputs.end(), numbers.begin(), numbers.end());
    variable_list result;
    for (IValue &value : execute(*backward, std::move(inputs))) result.push_back(value.isNone() ? Tensor() : value.toTensor());
    return result;
  }
  void release_variables() override { saved.clear(); }
};

struct Rng {
  Tensor cpu, device;
  c10::Device where = c10::kCPU;
  std::vector<std::pair<at::Generator, Tensor>> own;
  static Rng now(c10::Device where, const std::vector<at::Generator> &generators) {
    Rng rng;
    rng.where = where;
    for (at::Generator given : generators) {
      std::lock_guard<std::mutex> lock(given.mutex());
      rng.own.emplace_back(given, given.get_state());
    }
    auto generator = at::detail::getDefaultCPUGenerator();
    std::lock_guard<std::mutex> lock(generator.mutex());
    rng.cpu = generator.get_state();
    if (where.is_cuda()) rng.device = at::globalContext().defaultGenerator(where).get_state();
    return rng;
  }
  void apply() const {
    for (auto [given, state] : own) {
      std::lock_guard<std::mutex> lock(given.mutex());
      given.set_state(state);
    }
    auto generator = at::detail::getDefaultCPUGenerator();
    std::lock_guard<std::mutex> lock(generator.mutex());
    generator.set_state(cpu);
    if (where.is_cuda()) {
      auto other = at::globalContext().defaultGenerator(where);
      other.set_state(device);
    }
  }
};

// Keeps a part's inputs instead of its activations and computes it again when the gradient arrives.
struct CheckpointNode : Node {
  std::shared_ptr<Program> program;
  std::vector<SavedVariable> saved;  // the tensor inputs, then the captured tensors that require a gradient
  std::vector<IValue> inputs;        // a None where a saved tensor goes
  size_t captured = 0;
  Rng rng;

  variable_list apply(variable_list &&gradients) override {
    if (c10::GradMode::is_enabled()) throw ArgError("checkpoint: a second derivative needs the plain function");
    c10::AutoGradMode enable(true);
    variable_list leaves;
    std::vector<IValue> again = inputs;
    size_t next = 0;
    const size_t tensors = saved.size() - captured;
    std::vector<bool> wanted;
    for (size_t i = 0; i < inputs.size() && next < tensors; ++i) {
      if (!inputs[i].isNone()) continue;
      Tensor original = saved[next++].unpack(self(this));
      Tensor leaf = original.detach();
      wanted.push_back(original.requires_grad());
      if (original.requires_grad()) leaf.set_requires_grad(true);
      leaves.push_back(leaf);
      again[i] = leaf;
    }
    for (; next < saved.size(); ++next) {
      leaves.push_back(saved[next].unpack(self(this)));
      wanted.push_back(true);
    }
    std::vector<IValue> outputs;
    {
      struct Rewind {
        std::optional<Rng> after;
        ~Rewind() { if (after) after->apply(); }
      } rewind;
      if (program->random) {
        rewind.after = Rng::now(rng.where, program->generators);
        rng.apply();
      }
      outputs = execute(*program, std::move(again));
    }

    variable_list roots, arriving, targets, result(leaves.size());
    for (size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i].isTensor() && outputs[i].toTensor().requires_grad() && gradients[i].defined()) {
        roots.push_back(outputs[i].toTensor());
        arriving.push_back(gradients[i]);
      }
    for (size_t i = 0; i < leaves.size(); ++i)
      if (wanted[i]) targets.push_back(leaves[i]);
    if (roots.empty() || targets.empty()) return result;
    variable_list found = torch::autograd::grad(roots, targets, arriving, false, false, true);
    for (size_t i = 0, j = 0; i < leaves.size(); ++i)
      if (wanted[i]) result[i] = found[j++];
    return result;
  }
  void release_variables() override { saved.clear(); }
};

variable_list tensorsOf(const std::vector<IValue> &values) {
  variable_list tensors;
  for (const IValue &value : values)
    if (value.isTensor()) tensors.push_back(value.toTensor());
  return tensors;
}

bool sharesMemory(const Tensor &a, const Tensor &b) { return a.defined() && a.has_storage() && b.has_storage() && a.storage().is_alias_of(b.storage()); }

// A tensor the node may call its own. One that was handed through, or shares memory with one that has a history of its own,
// is copied: writing its history would overwrite the other's. A view of the function's own memory only sheds its base, and
// one returned twice is two results.
Tensor fresh(const Tensor &output, const variable_list &inputs, const Program &program, const std::vector<IValue> &values, size_t index) {
  bool shared = false;
  for (const Tensor &input : inputs) shared = shared || input.is_same(output) || sharesMemory(input, output);
  for (const Tensor &tensor : program.captured) shared = shared || tensor.is_same(output) || sharesMemory(tensor, output);
  if (shared) return output.clone();
  bool again = output.is_view();
  for (size_t i = 0; i < index; ++i) again = again || values[i].toTensor().is_same(output);
  return again ? output.detach() : output;
}

// Makes the tensor a result of the node. Integers have no gradient, but keep their place among the results.
template <class N> void attach(const Tensor &output, const N &node) {
  if (c10::isFloatingType(output.scalar_type()) || c10::isComplexType(output.scalar_type())) torch::autograd::set_history(output, node);
  else node->add_input_metadata(Node::undefined_input());
}

// args: the number of outputs, then the function's inputs. The forward program's outputs are followed by what it saves.
std::vector<IValue> custom(const Instruction &in, std::vector<IValue> args) {
  const auto outputs = static_cast<size_t>(integer(args[0]));
  std::vector<IValue> inputs(args.begin() + 1, args.end());
  const variable_list tensors = tensorsOf(inputs);
  const bool differentiable = c10::GradMode::is_enabled() && torch::autograd::any_variable_requires_grad(tensors);
  std::vector<IValue> values;
  {
    c10::AutoGradMode off(false);
    values = execute(*in.first, inputs);
  }
  if (outputs > values.size()) throw ArgError("the function returned fewer values than were recorded");
  if (differentiable) {
    auto node = makeNode<CustomNode>();
    node->backward = in.second;
    node->set_next_edges(torch::autograd::collect_next_edges(tensors));
    for (IValue &input : inputs)
      if (!input.isTensor()) node->numbers.push_back(input);
    for (size_t i = 0; i < outputs; ++i) {
      const Tensor returned = values[i].toTensor();
      const Tensor output = fresh(returned, tensors, *in.first, values, i);
      // Saving an output means saving the one the caller gets: another would keep this node alive for ever.
      for (size_t j = outputs; j < values.size(); ++j)
        if (values[j].toTensor().is_same(returned) && !output.is_same(returned)) values[j] = output;
      values[i] = output;
      node->outputs.emplace_back(output.sizes().vec(), output.options());
      attach(output, node);
    }
    for (size_t i = outputs; i < values.size(); ++i) {
      const Tensor tensor = values[i].toTensor();
      bool mine = false;
      for (size_t j = 0; j < outputs; ++j) mine = mine || values[j].toTensor().is_same(tensor);
      node->saved.emplace_back(tensor, mine);
    }
  }
  values.resize(outputs);
  return values;
}

std::vector<IValue> checkpoint(const Instruction &in, std::vector<IValue> inputs) {
  variable_list tensors = tensorsOf(inputs);
  size_t captured = 0;
  for (const Tensor &tensor : in.first->captured)
    if (tensor.requires_grad()) {
      tensors.push_back(tensor);
      ++captured;
    }
  const bool differentiable = c10::GradMode::is_enabled() && torch::autograd::any_variable_requires_grad(tensors);
  Rng rng;
  if (differentiable && in.first->random) rng = Rng::now(tensors[0].device(), in.first->generators);
  std::vector<IValue> values;
  {
    c10::AutoGradMode off(false);
    values = execute(*in.first, inputs);
  }
  if (!differentiable) return values;
  auto node = makeNode<CheckpointNode>();
  node->rng = std::move(rng);
  node->program = in.first;
  node->captured = captured;
  node->set_next_edges(torch::autograd::collect_next_edges(tensors));
  for (const Tensor &tensor : tensors) node->saved.emplace_back(tensor, false);
  node->inputs = std::move(inputs);
  for (IValue &value : node->inputs)
    if (value.isTensor()) value = IValue();
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i].isTensor()) throw ArgError("a checkpointed function returns tensors only");
    const Tensor output = fresh(values[i].toTensor(), tensors, *in.first, values, i);
    attach(output, node);
    values[i] = output;
  }
  return values;
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
