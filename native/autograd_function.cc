// Functions with a gradient of their own: hand-written ones, and parts that are computed again instead of kept.
#include "bridge.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>

namespace whetstone {

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

}  // namespace

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

}  // namespace whetstone
