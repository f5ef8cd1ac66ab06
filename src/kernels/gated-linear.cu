// SwiGLU of a projection of many rows on Hopper: out = silu(gate) * up, where gate and up are x @ weight.T, every row times its
// factor. Of the weight's features a tile has eight gates, then the eight ups that belong to them: a thread has both.
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

// Eight of a warp's rows: where they lie before they leave, and which of them are there.
struct Rows {
  T *results;
  long long rows;
  int feature, features, half, lane;

  // What `make` makes of each gate and its up, to rows of `stride` elements.
  template <class Make> __device__ __forceinline__ void write(const float (&d)[kColumns / 2], float factor, T *target, int stride, Make make) const {
    unsigned *const to = reinterpret_cast<unsigned *>(results + lane / 4 * kStride) + lane % 4;
#pragma unroll
    for (int j = 0; j < kColumns / 8; j += 2) {
      const int at = j * 4 + half * 2;
      to[j * 2] = narrowTwo(make(d[at] * factor, d[at + 4] * factor), make(d[at + 1] * factor, d[at + 5] * factor));
    }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < 8; i += 32 / kVectors) {
      const int row = i + lane / kVectors;
      if (row < rows && feature < features) store(target + static_cast<long long>(row) * stride, feature / 8, load(results + row * kStride, lane % kVectors));
    }
    __syncwarp();
  }
};

// grid: any number of blocks. features: of the result. factors may be null: then rows have none. gateUp may be null: else gates and
// ups, rounded, for the backward.
extern "C" __global__ void __launch_bounds__(kThreads + 32, 1)
gated_linear(const __grid_constant__ TensorMap weights, const __grid_constant__ TensorMap inputs, const float *factors, T *out, T *gateUp, int rows, int features) {
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
      const long long firstRow = place.y + warp * 16 + half * 8;
      const float factor = factors ? factors[min(firstRow + lane / 4, rows - 1ll)] : 1.f;
      const Rows where{results, rows - firstRow, feature, features, half, lane};
      where.write(d, factor, out + firstRow * features, features, [](float gate, float up) { return silu(gate) * up; });
      if (gateUp) {
        T *const kept = gateUp + firstRow * 2 * features;
        where.write(d, factor, kept, 2 * features, [](float gate, float) { return gate; });
        where.write(d, factor, kept + features, 2 * features, [](float, float up) { return up; });
      }
    }
  });
}
