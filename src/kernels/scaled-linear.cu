// A projection of many rows on Hopper, x @ weight.T, every row times its factor, and the bias.
//
// Defined by the caller: T (bfloat16), and what persistent-gemm.cuh asks for.
#include "prelude.cuh"
#include "hopper.cuh"
#include "projection.cuh"
#include "persistent-gemm.cuh"

constexpr int kStride = kColumns + 8;   // of a row of results, in elements: no two threads of a store meet in a bank
constexpr int kVectors = kColumns / 8;  // of a row of results
constexpr int kTogether = 16;           // tiles of rows that go through the weight's features together
static_assert(kVectors == 32, "no such tile");

// grid: any number of blocks. bias may be null.
extern "C" __global__ void __launch_bounds__(kThreads + 32, 1)
scaled_linear(const __grid_constant__ TensorMap weights, const __grid_constant__ TensorMap inputs, const float *factors, const T *bias, T *out, int rows, int features) {
  const int across = (features + kColumns - 1) / kColumns, down = (rows + kRows - 1) / kRows, count = across * down;
  // Tiles that are made at the same time have most of what they read in common.
  const auto placeOf = [&](int tile) {
    const int first = tile / (kTogether * across) * kTogether, high = min(kTogether, down - first), within = tile % (kTogether * across);
    return make_int2(within / high, (first + within % high) * kRows);
  };
  const auto bring = [&](unsigned char *to, Barrier &barrier, int x, int column) { copyTile(to, weights, barrier, x, column * kColumns); };
  persistentGemm(inputs, count, placeOf, bring, [&](const float (&d)[kColumns / 2], int2 place, unsigned char *behind, int warp, int lane) {
    const int firstFeature = place.x * kColumns, firstRow = place.y + warp * 16;
    T *const results = reinterpret_cast<T *>(behind) + warp * 8 * kStride;  // of eight of this warp's rows
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float factor = factors[min(firstRow + half * 8 + lane / 4, rows - 1)];
      unsigned *const to = reinterpret_cast<unsigned *>(results + lane / 4 * kStride) + lane % 4;
#pragma unroll
      for (int j = 0; j < kVectors; ++j) {
        float low = d[j * 4 + half * 2] * factor, high = d[j * 4 + half * 2 + 1] * factor;
        const int feature = firstFeature + j * 8 + lane % 4 * 2;
        if (bias && feature < features) {
          low += widen(bias[feature]);
          high += widen(bias[feature + 1]);
        }
        to[j * 4] = narrowTwo(low, high);
      }
      __syncwarp();
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const long long row = firstRow + half * 8 + i;
        if (row < rows && firstFeature + lane * 8 < features)
          store(out + row * features, (firstFeature + lane * 8) / 8, load(results + i * kStride, lane));
      }
      __syncwarp();
    }
  });
}
