// Dropout whose mask is a function of where an element belongs, not of a generator's state: the same whatever else is in the
// batch, in what order it is computed, or how often. src/kernels/dropout.cu computes the same bits.
#include "single_load.h"
#include "cpu.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <torch/library.h>

#include <type_traits>
#include <vector>

namespace whetstone {
namespace {

using at::Tensor;

namespace portable {
#include "philox-kernels.h"
}
WHETSTONE_WIDE_BEGIN
namespace wide {
#include "philox-kernels.h"
}
WHETSTONE_WIDE_END

template <class T> void dropRows(const Tensor &x, const Tensor &keys, int64_t stream, int64_t threshold, double factor, Tensor &out) {
  // 16-bit elements are multiplied in float32 and rounded once.
  using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const int64_t rows = x.size(0), columns = x.size(1);
  const T *from = x.const_data_ptr<T>();
  T *to = out.mutable_data_ptr<T>();
  const int32_t *key = keys.const_data_ptr<int32_t>();
  const auto words = wideVectors() ? wide::rowWords : portable::rowWords;
  const Wide scale = static_cast<Wide>(factor);
  parallel(rows, 8 * columns, [&](int64_t row) {
    thread_local std::vector<uint32_t> drawn;
    drawn.resize(static_cast<size_t>((columns + 31) / 32 * 32));
    words(key + 4 * row, static_cast<uint32_t>(stream), columns, drawn.data());
    for (int64_t i = 0, at = row * columns; i < columns; ++i, ++at)
      to[at] = drawn[static_cast<size_t>(i)] >= threshold ? static_cast<T>(static_cast<Wide>(from[at]) * scale) : static_cast<T>(Wide(0));
  });
}

// x: [rows, columns]; keys: int32 [rows, 4], the seed, the step, the sequence and the position of each row. An element is
// dropped where its word is below `threshold`, and multiplied by `factor` elsewhere.
Tensor dropout(const Tensor &given, const Tensor &keys, int64_t stream, int64_t threshold, double factor) {
  TORCH_CHECK(given.device().is_cpu() && given.dim() == 2, "x: a matrix on the CPU expected, got ", given.sizes());
  TORCH_CHECK(keys.device().is_cpu() && keys.scalar_type() == at::kInt && keys.is_contiguous() && keys.dim() == 2 && keys.size(0) == given.size(0) && keys.size(1) == 4,
              "keys: int32 [", given.size(0), ", 4] on the CPU expected, got ", keys.scalar_type(), " ", keys.sizes());
  TORCH_CHECK(threshold >= 0 && threshold <= (int64_t{1} << 32), "threshold: 0..2^32 expected, got ", threshold);
  const Tensor x = given.contiguous();
  Tensor out = at::empty_like(x);
  switch (x.scalar_type()) {
    case at::kFloat: dropRows<float>(x, keys, stream, threshold, factor, out); break;
    case at::kDouble: dropRows<double>(x, keys, stream, threshold, factor, out); break;
    case at::kBFloat16: dropRows<at::BFloat16>(x, keys, stream, threshold, factor, out); break;
    case at::kHalf: dropRows<at::Half>(x, keys, stream, threshold, factor, out); break;
    default: TORCH_CHECK(false, "x: a floating-point dtype expected, got ", x.scalar_type());
  }
  return out;
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(whetstone, library) {
  if (registers("whetstone::dropout")) library.def("dropout(Tensor x, Tensor keys, int stream, int threshold, float factor) -> Tensor");
}
TORCH_LIBRARY_IMPL(whetstone, CPU, library) {
  if (!secondCopy) library.impl("dropout", dropout);
}

}  // namespace whetstone
