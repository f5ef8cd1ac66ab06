// The parts of a matrix product whose inner dimension was divided, summed; the residual added; and the norm of that. One block
// a row, one vector a thread: there are few rows, and the latency of each matters.
//
// Defined by the caller: T (element type), HIDDEN, PARTS.
#include "prelude.cuh"

constexpr int kSize = Vector<T>::size;
constexpr int kVectors = HIDDEN / kSize;
constexpr int kWarps = (kVectors + 31) / 32;
static_assert(HIDDEN % kSize == 0 && kSize % 4 == 0, "a row is made of whole vectors");

// parts: float32 [PARTS, rows, HIDDEN]. bias may be null.
extern "C" __global__ void __launch_bounds__(kWarps * 32)
sum_rms_norm(const float *parts, const T *bias, const T *residual, const T *weight, T *normed, T *sum, float eps) {
  __shared__ float warps[kWarps];
  const long long row = blockIdx.x, rows = gridDim.x;
  const int vector = threadIdx.x;
  const bool mine = vector < kVectors;
  const long long at = row * kVectors + vector;
  Vector<T> held, w;
  float squares = 0;
  if (mine) {
    float4 part[PARTS][kSize / 4];
#pragma unroll
    for (int p = 0; p < PARTS; ++p)
#pragma unroll
      for (int i = 0; i < kSize / 4; ++i) part[p][i] = reinterpret_cast<const float4 *>(parts)[(p * rows * kVectors + at) * (kSize / 4) + i];
    held = load(residual, at);
    w = load(weight, vector);
    float total[kSize];
#pragma unroll
    for (int i = 0; i < kSize / 4; ++i) {
      float4 all = part[0][i];
#pragma unroll
      for (int p = 1; p < PARTS; ++p) {
        all.x += part[p][i].x;
        all.y += part[p][i].y;
        all.z += part[p][i].z;
        all.w += part[p][i].w;
      }
      total[4 * i] = all.x;
      total[4 * i + 1] = all.y;
      total[4 * i + 2] = all.z;
      total[4 * i + 3] = all.w;
    }
    if (bias) {
      const Vector<T> b = load(bias, vector);
#pragma unroll
      for (int j = 0; j < kSize; ++j) total[j] += widen(b.at[j]);
    }
#pragma unroll
    for (int j = 0; j < kSize; ++j) {
      // Rounded as a product is, then as a sum is.
      T product;
      narrow(product, total[j]);
      narrow(held.at[j], widen(product) + widen(held.at[j]));
      const float value = widen(held.at[j]);
      squares += value * value;
    }
    store(sum, at, held);
  }
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) squares += __shfl_xor_sync(~0u, squares, offset);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = squares;
  __syncthreads();
  squares = 0;
#pragma unroll
  for (int i = 0; i < kWarps; ++i) squares += warps[i];
  if (!mine) return;
  const float scale = rsqrtf(squares * (1.f / HIDDEN) + eps);
#pragma unroll
  for (int j = 0; j < kSize; ++j) narrow(held.at[j], widen(held.at[j]) * scale * widen(w.at[j]));
  store(normed, at, held);
}
