// Where a step's stream (skinny-gemm.cu) begins and ends. One block a row, one vector a thread.
//
// Defined by the caller: T (element type), HIDDEN, PARTS of the squares at the end.
#include "prelude.cuh"

constexpr int kVectors = HIDDEN / Vector<T>::size;
constexpr int kWarps = (kVectors + 31) / 32;
static_assert(HIDDEN % Vector<T>::size == 0 && kWarps <= 32, "a row is made of whole vectors, at most 1,024");

// Each row's embedding, in float32; it times the first norm's weight; and its sum of squares.
extern "C" __global__ void __launch_bounds__(kWarps * 32)
stream_begin(const int *ids, const T *table, const T *norm, float *residual, T *out, float *squares) {
  __shared__ float warps[kWarps];
  allowNext();
  waitForPrevious();
  const long long row = blockIdx.x;
  const int vector = threadIdx.x;
  float sum = 0;
  if (vector < kVectors) {
    Vector<T> held = load(table + static_cast<long long>(ids[row]) * HIDDEN, vector);
    const Vector<T> w = load(norm, vector);
    Vector<float> wide[2];
#pragma unroll
    for (int i = 0; i < Vector<T>::size; ++i) {
      const float value = widen(held.at[i]);
      wide[i / 4].at[i % 4] = value;
      sum += value * value;
      narrow(held.at[i], value * widen(w.at[i]));
    }
    store(out + row * HIDDEN, vector, held);
#pragma unroll
    for (int i = 0; i < 2; ++i) store(residual + row * HIDDEN, vector * 2 + i, wide[i]);
  }
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (int i = 1; i < kWarps; ++i) sum += warps[i];
  squares[row] = sum;
}

// What is left of the last norm: each row's factor.
extern "C" __global__ void __launch_bounds__(kWarps * 32)
stream_end(const T *x, const float *squares, float eps, T *out) {
  allowNext();
  waitForPrevious();
  const long long row = blockIdx.x, rows = gridDim.x;
  float sum = 0;
#pragma unroll
  for (int i = 0; i < PARTS; ++i) sum += squares[i * rows + row];
  const float factor = rsqrtf(sum * (1.f / HIDDEN) + eps);
  if (threadIdx.x >= kVectors) return;
  Vector<T> held = load(x + row * HIDDEN, threadIdx.x);
#pragma unroll
  for (int i = 0; i < Vector<T>::size; ++i) narrow(held.at[i], widen(held.at[i]) * factor);
  store(out + row * HIDDEN, threadIdx.x, held);
}
