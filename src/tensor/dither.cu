// float32 masters of 16-bit weights at random places inside their rounding cells: native/masters.cc has the same bits and says
// why. Each thread takes one vector of weights.
//
// Defined by the caller: T (the weights' element type), EXTRA (bits that float32 has beyond it), THREADS (of a block).
#include "prelude.cuh"
#include "philox.cuh"

constexpr int kSize = Vector<T>::size;

__device__ __forceinline__ float widened(unsigned magnitude) {
  T value;
  value.bits = static_cast<unsigned short>(magnitude);
  return widen(value);
}

__device__ __forceinline__ float placeInCell(unsigned bits, unsigned word) {
  const unsigned magnitude = bits & 0x7fffu;
  const float weight = widened(magnitude);
  if (magnitude == 0) return bits ? -0.f : 0.f;
  constexpr int half = 1 << (EXTRA - 1);
  const float below = weight - widened(magnitude - 1), next = widened(magnitude + 1);
  const float above = isinf(next) ? below : next - weight;
  const bool narrow = below < above;
  const int count = narrow ? 3 * half - 1 : 2 * half - 1;
  const int drawn = static_cast<int>(__umulhi(word, static_cast<unsigned>(count))) - (half - 1);
  const int place = drawn > 0 && narrow ? drawn / 2 : drawn;
  const float master = weight + static_cast<float>(place) * ((place < 0 ? below : above) / (2 * half));
  return bits & 0x8000u ? -master : master;
}

extern "C" __global__ void __launch_bounds__(THREADS)
dither(const T *weight, float *master, long long count, int seed, int name) {
  const long long first = (static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x) * kSize;
  if (first >= count) return;
#pragma unroll
  for (int k = 0; k < kSize / 4; ++k) {
    const unsigned long long counter = static_cast<unsigned long long>(first) / 4 + k;
    const Words words = philox(seed, name, static_cast<unsigned>(counter), static_cast<unsigned>(counter >> 32), 0, 0);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const long long at = first + 4 * k + i;
      if (at < count) master[at] = placeInCell(weight[at].bits, words.at[i]);
    }
  }
}
