// Rotary positions over the fused projection of rows of any sequences, in place, and their keys and values into the blocks of
// a cache: [blocks, KV_HEADS, 16, HEAD_DIM] each. A row with slot -1 stores nothing.
//
// Defined by the caller: T (element type), HEADS, KV_HEADS, HEAD_DIM, THREADS (of a block).
#include "prelude.cuh"

constexpr int kHalf = HEAD_DIM / 2;
constexpr int kTotal = HEADS + 2 * KV_HEADS;

// grid: rows, as many blocks as a row's pairs take.
extern "C" __global__ void __launch_bounds__(THREADS)
paged_rope(T *qkv, const float *cosines, const float *sines, const int *positions, const int *slots, T *keys, T *values) {
  const long long row = blockIdx.x;
  const int within = blockIdx.y * THREADS + threadIdx.x, head = within / kHalf, i = within % kHalf;
  const int slot = slots[row];
  if (head >= kTotal || slot < 0) return;
  T *at = qkv + (row * kTotal + head) * HEAD_DIM + i;
  T a = at[0], b = at[kHalf];
  if (head < HEADS + KV_HEADS) {
    const float x = widen(a), y = widen(b);
    const float c = cosines[static_cast<long long>(positions[row]) * kHalf + i], s = sines[static_cast<long long>(positions[row]) * kHalf + i];
    narrow(a, x * c - y * s);
    narrow(b, y * c + x * s);
    at[0] = a;
    at[kHalf] = b;
  }
  if (head < HEADS) return;
  const int kvHead = (head - HEADS) % KV_HEADS;
  T *to = (head < HEADS + KV_HEADS ? keys : values) + ((static_cast<long long>(slot / 16) * KV_HEADS + kvHead) * 16 + slot % 16) * HEAD_DIM + i;
  to[0] = a;
  to[kHalf] = b;
}
