// The gradient of flash attention over sequences as they lie, the same bits every time: libtorch's kernel adds the parts of the
// queries' gradient in whatever order they come unless it is told not to, and what tells it is a switch of the whole process.
#include "single_load.h"

#include <ATen/Context.h>
#include <ATen/ops/_flash_attention_backward.h>

#include <torch/library.h>

namespace whetstone {
namespace {

using at::Tensor;

// On only while the kernel is launched: elsewhere it would choose slower operators, and fill memory that is written anyway.
class Deterministic {
  at::Context &context_ = at::globalContext();
  const bool algorithms_ = context_.deterministicAlgorithms(), warns_ = context_.deterministicAlgorithmsWarnOnly(), fills_ = context_.deterministicFillUninitializedMemory();

 public:
  Deterministic() {
    context_.setDeterministicFillUninitializedMemory(false);
    context_.setDeterministicAlgorithms(true, false);
  }
  ~Deterministic() {
    context_.setDeterministicAlgorithms(algorithms_, warns_);
    context_.setDeterministicFillUninitializedMemory(fills_);
  }
};

// Causal, without dropout; `out` and what follows it are what the forward pass gave.
std::tuple<Tensor, Tensor, Tensor> flashBackward(const Tensor &gradient, const Tensor &query, const Tensor &key, const Tensor &value, const Tensor &out, const Tensor &logsumexp, const Tensor &cuSeqlens, int64_t length,
                                                 const Tensor &randomState, const Tensor &unused) {
  const Deterministic guard;
  return at::_flash_attention_backward(gradient, query, key, value, out, logsumexp, cuSeqlens, cuSeqlens, length, length, 0.0, true, randomState, unused);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(whetstone, library) {
  if (registers("whetstone::flash_attention_backward"))
    library.def("flash_attention_backward(Tensor gradient, Tensor query, Tensor key, Tensor value, Tensor out, Tensor logsumexp, Tensor cu_seqlens, int length, Tensor random_state, Tensor unused) -> (Tensor, Tensor, Tensor)");
}
TORCH_LIBRARY_IMPL(whetstone, CompositeExplicitAutograd, library) {
  if (!secondCopy) library.impl("flash_attention_backward", flashBackward);
}

}  // namespace whetstone
