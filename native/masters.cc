// float32 masters of 16-bit weights, each at a random place inside the rounding cell of its weight: rounded, it is the weight
// again, and the mean over many weights moves with the masters from the first update on. src/tensor/dither.cu computes the same
// bits.
#include "single_load.h"
#include "cpu.h"

#include <ATen/core/Tensor.h>
#include <torch/library.h>

#include <cmath>

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

// Bits that float32 has beyond the 16-bit type: a cell holds 2^kExtra float32 numbers.
template <class T> constexpr int kExtra = 0;
template <> constexpr int kExtra<at::BFloat16> = 16;
template <> constexpr int kExtra<at::Half> = 13;

template <class T> float widened(unsigned magnitude) {
  return static_cast<float>(T(static_cast<unsigned short>(magnitude), T::from_bits()));
}

// A float32 number that rounds to the 16-bit number of these bits, uniform by value, never half-way between two of them. The
// cell reaches half-way to both neighbours; below a power of two the neighbour is half as far, so that side is drawn half as often.
template <class T> float placeInCell(unsigned bits, uint32_t word) {
  const unsigned magnitude = bits & 0x7fffu;
  const float weight = widened<T>(magnitude);
  if (magnitude == 0) return bits ? -0.f : 0.f;
  constexpr int half = 1 << (kExtra<T> - 1);
  const float below = weight - widened<T>(magnitude - 1), next = widened<T>(magnitude + 1);
  const float above = std::isinf(next) ? below : next - weight;
  const bool narrow = below < above;
  const int count = narrow ? 3 * half - 1 : 2 * half - 1;
  const int drawn = static_cast<int>((static_cast<uint64_t>(word) * count) >> 32) - (half - 1);
  const int place = drawn > 0 && narrow ? drawn / 2 : drawn;
  const float master = weight + static_cast<float>(place) * ((place < 0 ? below : above) / (2 * half));
  return bits & 0x8000u ? -master : master;
}

template <class T> void fill(const Tensor &weight, uint32_t seed, uint32_t name, Tensor &master) {
  constexpr int64_t kBlock = 4096;
  const int64_t count = weight.numel();
  const uint16_t *from = reinterpret_cast<const uint16_t *>(weight.const_data_ptr<T>());
  float *to = master.mutable_data_ptr<float>();
  const auto words = wideVectors() ? wide::philox8 : portable::philox8;
  parallel((count + kBlock - 1) / kBlock, 16 * kBlock, [&](int64_t block) {
    uint32_t drawn[4 * 8];
    const int64_t end = std::min(count, (block + 1) * kBlock);
    for (int64_t first = block * kBlock; first < end; first += 4 * 8) {
      const uint64_t counter = static_cast<uint64_t>(first) / 4;
      words(seed, name, static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32), 0, 0, drawn);
      for (int64_t i = first; i < std::min(end, first + 4 * 8); ++i) to[i] = placeInCell<T>(from[i], drawn[i - first]);
    }
  });
}

// `seed` and `name` are the two words of the random key; the counter is the element's index. Infinities and NaN have no cell.
void dither(const Tensor &weight, Tensor &master, int64_t seed, int64_t name) {
  TORCH_CHECK(weight.device().is_cpu() && weight.is_contiguous(), "weight: a contiguous tensor on the CPU expected");
  TORCH_CHECK(master.device().is_cpu() && master.scalar_type() == at::kFloat && master.is_contiguous() && master.sizes() == weight.sizes(),
              "master: float32 ", weight.sizes(), " on the CPU expected, got ", master.scalar_type(), " ", master.sizes());
  const auto [a, b] = std::pair(static_cast<uint32_t>(seed), static_cast<uint32_t>(name));
  switch (weight.scalar_type()) {
    case at::kBFloat16: fill<at::BFloat16>(weight, a, b, master); break;
    case at::kHalf: fill<at::Half>(weight, a, b, master); break;
    default: TORCH_CHECK(false, "weight: bfloat16 or float16 expected, got ", weight.scalar_type());
  }
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(whetstone, library) {
  if (registers("whetstone::dither")) library.def("dither(Tensor weight, Tensor(a!) master, int seed, int name) -> ()");
}
TORCH_LIBRARY_IMPL(whetstone, CPU, library) {
  if (!secondCopy) library.impl("dither", dither);
}

}  // namespace whetstone
