// The float32 stream between a decoder's parts, and norms whose factor the next product applies: a norm is rows times the norm's
// weight, rounded, and one factor for every row, which multiplies the result of the product that reads the rows.
//
// Defined by the caller: T (element type). deferred_norm also: HIDDEN, PARTS.
#include "prelude.cuh"

constexpr int kSize = Vector<T>::size;
static_assert(kSize == 8, "elements have 16 bits");

__device__ __forceinline__ void loadEight(float (&to)[8], const float *from, long long vector) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const float4 four = reinterpret_cast<const float4 *>(from)[vector * 2 + i];
    to[4 * i] = four.x;
    to[4 * i + 1] = four.y;
    to[4 * i + 2] = four.z;
    to[4 * i + 3] = four.w;
  }
}

#ifdef HIDDEN
constexpr int kVectors = HIDDEN / kSize;
constexpr int kWarps = (kVectors + 31) / 32;
static_assert(HIDDEN % kSize == 0 && kWarps <= 32, "a row is made of whole vectors, at most 1,024");

// The parts of a product, summed and added to the stream, and the norm of that. One block a row, one vector a thread.
// parts: float32 [PARTS, rows, HIDDEN]; where there are none, the stream goes on as it is, and `sum` is null. bias may be null.
extern "C" __global__ void __launch_bounds__(kWarps * 32)
deferred_norm(const float *parts, const T *bias, const float *stream, const T *weight, T *values, float *sum, float *rstd, float eps) {
  __shared__ float warps[kWarps];
  const long long row = blockIdx.x, rows = gridDim.x;
  const int vector = threadIdx.x;
  const long long at = row * kVectors + vector;
  float squares = 0;
  if (vector < kVectors) {
    float held[8], part[PARTS > 0 ? PARTS : 1][8];
#pragma unroll
    for (int p = 0; p < PARTS; ++p) loadEight(part[p], parts, p * rows * kVectors + at);
    loadEight(held, stream, at);
    const Vector<T> w = load(weight, vector);
#pragma unroll
    for (int p = 1; p < PARTS; ++p)
#pragma unroll
      for (int i = 0; i < 8; ++i) part[0][i] += part[p][i];
    if (PARTS > 0 && bias) {
      const Vector<T> b = load(bias, vector);
#pragma unroll
      for (int i = 0; i < 8; ++i) part[0][i] += widen(b.at[i]);
    }
    Vector<T> out;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      if (PARTS > 0) held[i] += part[0][i];
      squares += held[i] * held[i];
      narrow(out.at[i], held[i] * widen(w.at[i]));
    }
    store(values, at, out);
    if (PARTS > 0)
#pragma unroll
      for (int i = 0; i < 2; ++i)
        reinterpret_cast<float4 *>(sum)[at * 2 + i] = make_float4(held[4 * i], held[4 * i + 1], held[4 * i + 2], held[4 * i + 3]);
  }
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) squares += __shfl_xor_sync(~0u, squares, offset);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = squares;
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (int i = 1; i < kWarps; ++i) squares += warps[i];
  rstd[row] = rsqrtf(squares * (1.f / HIDDEN) + eps);
}
#endif

// Rows times their factors. grid: a thread for every vector.
extern "C" __global__ void __launch_bounds__(256)
scale_rows(const T *x, const float *factors, T *out, long long rows, int vectors) {
  const long long at = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (at >= rows * vectors) return;
  const float factor = factors[at / vectors];
  Vector<T> held = load(x, at);
#pragma unroll
  for (int i = 0; i < kSize; ++i) narrow(held.at[i], widen(held.at[i]) * factor);
  store(out, at, held);
}

// The same of float32 rows, and the bias, which may be null.
extern "C" __global__ void __launch_bounds__(256)
finish_rows(const float *x, const float *factors, const T *bias, T *out, long long rows, int vectors) {
  const long long at = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (at >= rows * vectors) return;
  const long long row = at / vectors;
  const float factor = factors[row];
  float held[8];
  loadEight(held, x, at);
  Vector<T> result, b{};
  if (bias) b = load(bias, at - row * vectors);
#pragma unroll
  for (int i = 0; i < kSize; ++i) narrow(result.at[i], bias ? held[i] * factor + widen(b.at[i]) : held[i] * factor);
  store(out, at, result);
}
