// A linear map for the few rows of a generation step, whose result for a row is the same in any batch. BLAS libraries pack
// the weights first, which pays for hundreds of rows, and choose kernels by shape, which makes a row's last bits depend on
// how many others there are.
#include "single_load.h"
#include "cpu.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <algorithm>
#include <optional>

#pragma GCC diagnostic ignored "-Wpsabi"  // vectors are passed inside this file only

namespace whetstone {
namespace {

using at::Tensor;

struct Product {
  const void *x, *w, *bias;
  void *out;
  int64_t rows, depth, width;
};

// Columns one thread takes at a time: so many that their weights stay in its cache while all rows pass by.
constexpr int64_t kColumns = 96;
constexpr int64_t kCacheBytes = 160 << 10;

#define KERNELS "linear-kernels.h"
#include "instruction-sets.h"

Tensor linear(const Tensor &x, const Tensor &weight, const std::optional<Tensor> &bias) {
  const auto type = x.scalar_type();
  TORCH_CHECK(type == at::kFloat || type == at::kBFloat16, "linear: float32 or bfloat16 expected, got ", type);
  TORCH_CHECK(x.device().is_cpu() && x.dim() == 2 && x.is_contiguous(), "x: a contiguous matrix on the CPU expected, got ", x.sizes());
  TORCH_CHECK(weight.device().is_cpu() && weight.dim() == 2 && weight.is_contiguous() && weight.size(1) == x.size(1) && weight.scalar_type() == type, "weight: ", weight.sizes(), " does not fit x ", x.sizes());
  const bool biased = bias.has_value() && bias->defined();
  TORCH_CHECK(!biased || (bias->device().is_cpu() && bias->is_contiguous() && bias->numel() == weight.size(0) && bias->scalar_type() == type), "bias does not fit the weight");
  Tensor out = at::empty({x.size(0), weight.size(0)}, x.options());
  const Product product{x.const_data_ptr(), weight.const_data_ptr(), biased ? bias->const_data_ptr() : nullptr, out.mutable_data_ptr(), x.size(0), x.size(1), weight.size(0)};
  auto columns = type == at::kFloat ? (wideVectors() ? wide::f32::productColumns : portable::f32::productColumns) : (wideVectors() ? wide::bf16::productColumns : portable::bf16::productColumns);
  const int64_t fitting = kCacheBytes / std::max<int64_t>(1, product.depth * static_cast<int64_t>(x.element_size()));
  // A whole number of tiles, and several pieces for each thread.
  const int64_t fair = product.width / (4 * at::get_num_threads());
  const int64_t each = std::clamp<int64_t>(std::min(fitting, fair) / 3 * 3, 12, kColumns);
  parallel((product.width + each - 1) / each, product.rows * product.depth * each, [&](int64_t piece) { columns(product, piece * each, std::min(product.width, (piece + 1) * each)); });
  return out;
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(whetstone, library) {
  if (registers("whetstone::linear")) library.def("linear(Tensor x, Tensor weight, Tensor? bias=None) -> Tensor");
}
TORCH_LIBRARY_IMPL(whetstone, CPU, library) {
  if (!secondCopy) library.impl("linear", linear);
}

}  // namespace whetstone
