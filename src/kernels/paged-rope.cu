// Rotary positions over the fused projection of rows of any sequences, in place, and their keys and values into the blocks of
// a cache: [blocks, KV_HEADS, 16, HEAD_DIM] each. A row with slot -1 stores nothing. One block a row, a thread a vector of half a
// head and the one it is turned with.
//
// Defined by the caller: T (element type), HEADS, KV_HEADS, HEAD_DIM.
#include "prelude.cuh"

constexpr int kHalf = HEAD_DIM / 2;
constexpr int kSize = Vector<T>::size, kVectors = kHalf / kSize;
constexpr int kTotal = HEADS + 2 * KV_HEADS;
constexpr int kThreads = (kTotal * kVectors + 31) / 32 * 32;
static_assert(kHalf % kSize == 0, "half a head is made of whole vectors");

extern "C" __global__ void __launch_bounds__(kThreads)
paged_rope(T *qkv, const float *cosines, const float *sines, const int *positions, const int *slots, T *keys, T *values) {
  const long long row = blockIdx.x;
  const int head = threadIdx.x / kVectors, vector = threadIdx.x % kVectors;
  const int slot = slots[row];
  if (head >= kTotal || slot < 0) return;
  T *at = qkv + (row * kTotal + head) * HEAD_DIM;
  Vector<T> a = load(at, vector), b = load(at + kHalf, vector);
  if (head < HEADS + KV_HEADS) {
    const long long angle = static_cast<long long>(positions[row]) * kHalf + vector * kSize;
#pragma unroll
    for (int i = 0; i < kSize; ++i) {
      const float x = widen(a.at[i]), y = widen(b.at[i]), c = cosines[angle + i], s = sines[angle + i];
      narrow(a.at[i], turnLow(x, y, c, s));
      narrow(b.at[i], turnHigh(x, y, c, s));
    }
    store(at, vector, a);
    store(at + kHalf, vector, b);
  }
  if (head < HEADS) return;
  const int kvHead = (head - HEADS) % KV_HEADS;
  T *to = (head < HEADS + KV_HEADS ? keys : values) + ((static_cast<long long>(slot / 16) * KV_HEADS + kvHead) * 16 + slot % 16) * HEAD_DIM;
  store(to, vector, a);
  store(to + kHalf, vector, b);
}
