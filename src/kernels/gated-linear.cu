// SwiGLU of a projection of many rows on Hopper: out = silu(gate) * up, where gate and up are x @ weight.T, rounded. Of the weight's
// features a tile has eight gates, then the eight ups that belong to them: a thread has both.
//
// Defined by the caller: T (bfloat16), and what persistent-gemm.cuh asks for.
#include "prelude.cuh"
#include "hopper.cuh"
#include "projection.cuh"
#include "persistent-gemm.cuh"

constexpr int kStride = kColumns / 2 + 8;  // of a row of results, in elements: no two threads of a store meet in a bank
constexpr int kVectors = kColumns / 16;    // of a row of results
constexpr int kTogether = 16;              // tiles of rows that go through the weight's features together
static_assert(32 % kVectors == 0, "no such tile");

// grid: any number of blocks. features: of the result.
extern "C" __global__ void __launch_bounds__(kThreads + 32, 1)
gated_linear(const __grid_constant__ TensorMap weights, const __grid_constant__ TensorMap inputs, T *out, int rows, int features) {
  const int across = (2 * features + kColumns - 1) / kColumns, down = (rows + kRows - 1) / kRows, count = across * down;
  // Tiles that are made at the same time have most of what they read in common.
  const auto placeOf = [&](int tile) {
    const int first = tile / (kTogether * across) * kTogether, high = min(kTogether, down - first), within = tile % (kTogether * across);
    return make_int2(within / high, (first + within % high) * kRows);
  };
  const auto bring = [&](unsigned char *to, Barrier &barrier, int x, int column) { copyTile(to, weights, barrier, x, 0, 0, column * (kColumns / 16)); };
  persistentGemm(inputs, count, placeOf, bring, [&](const float (&d)[kColumns / 2], int2 place, unsigned char *behind, int warp, int lane) {
    const int feature = place.x * (kColumns / 2) + lane % kVectors * 8;
    T *const results = reinterpret_cast<T *>(behind) + warp * 8 * kStride;  // of eight of this warp's rows
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      unsigned *const to = reinterpret_cast<unsigned *>(results + lane / 4 * kStride) + lane % 4;
#pragma unroll
      for (int j = 0; j < kColumns / 8; j += 2) {
        const int at = j * 4 + half * 2;
        const unsigned gates = narrowTwo(d[at], d[at + 1]), ups = narrowTwo(d[at + 4], d[at + 5]);
        to[j * 2] = narrowTwo(silu(__uint_as_float(gates << 16)) * __uint_as_float(ups << 16),
                              silu(__uint_as_float(gates & 0xffff0000u)) * __uint_as_float(ups & 0xffff0000u));
      }
      __syncwarp();
#pragma unroll
      for (int i = 0; i < 8; i += 32 / kVectors) {
        const int row = i + lane / kVectors;
        const long long at = place.y + warp * 16 + half * 8 + row;
        if (at < rows && feature < features) store(out + at * features, feature / 8, load(results + row * kStride, lane % kVectors));
      }
      __syncwarp();
    }
  });
}
