// Rotary positions over the heads of a fused projection, and the split of what is not rotated: rows of `total` heads in, the
// first `rotated` heads rotated into one tensor, the rest copied into another. The backward is the same walk the other way.
//
// Defined by the caller: T (element type), HALF (half a head's size), THREADS (of a block).
#include "prelude.cuh"

constexpr int kSize = Vector<T>::size;
constexpr int kVectors = HALF / kSize;  // of half a head
static_assert(HALF % kSize == 0, "half a head is made of whole vectors");

// direction 1 turns by the angle, -1 back. `whole` is the fused side, `first` and `rest` the split one.
template <bool Forward>
__device__ __forceinline__ void walk(T *whole, const float *cosines, const float *sines, T *first, T *rest, long long rows, int total, int rotated) {
  const unsigned long long index = static_cast<unsigned long long>(blockIdx.x) * THREADS + threadIdx.x;
  const unsigned perRow = total * kVectors;
  const unsigned long long row = index / perRow;
  if (row >= static_cast<unsigned long long>(rows)) return;
  const unsigned within = static_cast<unsigned>(index - row * perRow);
  const unsigned head = within / kVectors, vector = within % kVectors;

  T *fused = whole + (row * total + head) * (2 * HALF);
  const bool turns = head < static_cast<unsigned>(rotated);
  T *split = turns ? first + (row * rotated + head) * (2 * HALF) : rest + (row * (total - rotated) + head - rotated) * (2 * HALF);
  const T *from = Forward ? fused : split;
  T *to = Forward ? split : fused;
  Vector<T> a = load(from, vector), b = load(from + HALF, vector);
  if (turns) {
    const float *c = cosines + row * HALF + vector * kSize, *s = sines + row * HALF + vector * kSize;
#pragma unroll
    for (int i = 0; i < kSize; ++i) {
      const float x = widen(a.at[i]), y = widen(b.at[i]), sine = Forward ? s[i] : -s[i];
      narrow(a.at[i], turnLow(x, y, c[i], sine));
      narrow(b.at[i], turnHigh(x, y, c[i], sine));
    }
  }
  store(to, vector, a);
  store(to + HALF, vector, b);
}

extern "C" __global__ void __launch_bounds__(THREADS)
rope_forward(T *whole, const float *cosines, const float *sines, T *first, T *rest, long long rows, int total, int rotated) {
  walk<true>(whole, cosines, sines, first, rest, rows, total, rotated);
}

extern "C" __global__ void __launch_bounds__(THREADS)
rope_backward(T *whole, const float *cosines, const float *sines, T *first, T *rest, long long rows, int total, int rotated) {
  walk<false>(whole, cosines, sines, first, rest, rows, total, rotated);
}
