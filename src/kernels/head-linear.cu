// Logits of many rows on Hopper, x @ weight.T, rounded, and what a token is drawn from (sums.cuh) of every 256 of them, while they
// are at hand: four threads have 64 of a row each, and sum them in a fixed order.
//
// Defined by the caller: what persistent-gemm.cuh and sums.cuh ask for.
#include "prelude.cuh"
#include "hopper.cuh"
#include "projection.cuh"
#include "persistent-gemm.cuh"
#include "sums.cuh"

constexpr int kStride = kChunk + 8;       // of a row of logits, in elements: no two threads of a store meet in a bank
constexpr int kEights = kChunk / 8;
constexpr unsigned kLeast = 0xff80ff80u;  // twice minus infinity
static_assert(kColumns == kChunk && kEights == 32 && VOCABULARY % kSize == 0, "no such tile");

__device__ __forceinline__ float lowOf(unsigned two) { return __uint_as_float(two << 16); }
__device__ __forceinline__ float highOf(unsigned two) { return __uint_as_float(two & 0xffff0000u); }

// Over the four threads that have a row.
__device__ __forceinline__ float rowMax(float value) {
  value = fmaxf(value, __shfl_xor_sync(~0u, value, 1));
  return fmaxf(value, __shfl_xor_sync(~0u, value, 2));
}
__device__ __forceinline__ float rowSum(float value) {
  value += __shfl_xor_sync(~0u, value, 1);
  return value + __shfl_xor_sync(~0u, value, 2);
}

__device__ __forceinline__ float largest(const unsigned (&two)[kEights]) {
  float most = kNothing;
#pragma unroll
  for (int j = 0; j < kEights; ++j) most = fmaxf(most, fmaxf(lowOf(two[j]), highOf(two[j])));
  return rowMax(most);
}

__device__ __forceinline__ float powers(const unsigned (&two)[kEights], float most, float scale) {
  const float factor = scale * kLog2;
  float sums[2] = {};
#pragma unroll
  for (int j = 0; j < kEights; ++j) {
    sums[0] += power2((lowOf(two[j]) - most) * factor);
    sums[1] += power2((highOf(two[j]) - most) * factor);
  }
  return rowSum(sums[0] + sums[1]);
}

// grid: any number of blocks, in clusters of two: neighbours have the same weights. Rows with position -1 are not there.
extern "C" __global__ void __launch_bounds__(kThreads + 32, 1)
head_linear(const __grid_constant__ TensorMap weights, const __grid_constant__ TensorMap inputs, T *logits, const int *positions, const Settings *settings, const int *forbiddenOffsets, const int *forbidden, Sums *sums, int rows) {
  const int down = (rows + kRows - 1) / kRows;
  const auto placeOf = [&](int tile) { return make_int2(tile / down, tile % down * kRows); };
  const auto bring = [&](unsigned char *to, Barrier &barrier, int x, int column) { copyTile(to, weights, barrier, x, column * kChunk); };
  persistentGemm(inputs, kChunks * down, placeOf, bring, [&](const float (&d)[kColumns / 2], int2 place, unsigned char *behind, int warp, int lane) {
    const int chunk = place.x, firstRow = place.y + warp * 16;
    T *const rounded = reinterpret_cast<T *>(behind) + warp * 8 * kStride;  // of eight of this warp's rows
    unsigned twos[2][kEights];
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int j = 0; j < kEights; ++j) twos[half][j] = narrowTwo(d[j * 4 + half * 2], d[j * 4 + half * 2 + 1]);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      unsigned (&two)[kEights] = twos[half];
      const int row = min(firstRow + half * 8 + lane / 4, rows - 1);
      const bool there = firstRow + half * 8 + lane / 4 < rows && positions[row] >= 0;
#pragma unroll
      for (int j = 0; j < kEights; ++j) reinterpret_cast<unsigned *>(rounded + lane / 4 * kStride)[j * 4 + lane % 4] = two[j];
      __syncwarp();
      const unsigned theres = __ballot_sync(~0u, there);
#pragma unroll
      for (int i = 0; i < 8; ++i)
        if (theres >> 4 * i & 1 && chunk * kChunk + lane * kSize < VOCABULARY)
          store(logits + static_cast<long long>(firstRow + half * 8 + i) * VOCABULARY, chunk * kEights + lane, load(rounded + i * kStride, lane));

      const auto beyond = [&](int j) { return VOCABULARY % kChunk > 0 && chunk * kChunk + j * 8 >= VOCABULARY; };
#pragma unroll
      for (int j = 0; j < kEights; ++j)
        if (beyond(j)) two[j] = kLeast;
      Sums found;
      found.best = found.most = largest(two);
      found.kept = found.total = powers(two, found.most, 1.f);
      const float scale = settings[row].scale();
      const Forbidden without(forbidden, forbiddenOffsets, row);
      const bool touched = without.touch(chunk);
      if (__any_sync(~0u, there && (scale != 1.f || touched))) {
        T *const own = rounded + lane / 4 * kStride;
        __syncwarp();
        for (int k = without.from + lane % 4; touched && k < without.to; k += 4)
          if (forbidden[k] / kChunk == chunk) own[forbidden[k] % kChunk].bits = 0xff80;  // minus infinity
        __syncwarp();
#pragma unroll
        for (int j = 0; j < kEights; ++j) two[j] = beyond(j) ? kLeast : reinterpret_cast<unsigned *>(own)[j * 4 + lane % 4];
        found.best = largest(two);
        found.kept = powers(two, found.best, scale);
      }
      if (there && lane % 4 == 0) sums[static_cast<long long>(row) * kChunks + chunk] = found;
      __syncwarp();
    }
  });
}
