// Dropout by a counter: native/dropout.cc has the same words. Each thread takes one vector of a row.
//
// Defined by the caller: T (element type), THREADS (of a block).
#include "prelude.cuh"
#include "philox.cuh"

constexpr int kSize = Vector<T>::size;

__device__ __forceinline__ T dropped(T value, unsigned word, long long threshold, float factor) {
  T out;
  narrow(out, static_cast<long long>(word) >= threshold ? widen(value) * factor : 0.f);
  return out;
}

// keys: the seed, the step, the sequence and the position of each row.
extern "C" __global__ void __launch_bounds__(THREADS)
dropout_rows(const T *x, const int4 *keys, T *out, long long rows, int columns, int stream, long long threshold, float factor) {
  const int perRow = (columns + kSize - 1) / kSize;
  const long long at = static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x;
  const long long row = at / perRow;
  if (row >= rows) return;
  const int column = static_cast<int>(at - row * perRow) * kSize;
  const int4 key = keys[row];
  Words words[kSize / 4];
#pragma unroll
  for (int i = 0; i < kSize / 4; ++i) words[i] = philox(key.x, key.y, column / 4 + i, key.w, key.z, stream);
  if (columns % kSize == 0) {
    Vector<T> value = load(x, at);
#pragma unroll
    for (int i = 0; i < kSize; ++i) value.at[i] = dropped(value.at[i], words[i / 4].at[i % 4], threshold, factor);
    store(out, at, value);
  } else {
    for (int i = 0; i < kSize && column + i < columns; ++i)
      out[row * columns + column + i] = dropped(x[row * columns + column + i], words[i / 4].at[i % 4], threshold, factor);
  }
}
