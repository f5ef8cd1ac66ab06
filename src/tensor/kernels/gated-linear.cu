// SwiGLU of a projection of many rows on Hopper: out = silu(gate) * up, where gate and up are x @ weight.T, rounded. Of the weight's
// features a tile has eight gates, then the eight ups that belong to them: a thread has both.
//
// As many blocks as the card runs at once take tiles of 128 rows and FEATURES of the weight in turns. One warp brings tiles of both
// factors with bulk copies into STAGES places of shared memory; two warpgroups multiply, 64 rows each, and finish what they
// have made. A row's result is summed in the order of the inner dimension and depends on nothing else.
//
// Defined by the caller: T (bfloat16), FEATURES, STAGES, CHUNKS (of 64 elements of the inner dimension), and what projection.cuh asks for.
#include "prelude.cuh"
#include "hopper.cuh"
#include "projection.cuh"

constexpr int kRows = 128, kThreads = 256;  // that multiply
constexpr int kWeightBytes = FEATURES * 128, kStageBytes = kWeightBytes + kRows * 128;
constexpr int kStride = FEATURES / 2 + 8;   // of a row of results, in elements: no two threads of a store meet in a bank
constexpr int kVectors = FEATURES / 16;     // of a row of results
constexpr int kTogether = 16;               // tiles of rows that go through the weight's features together
static_assert(kColumns == FEATURES && 32 % kVectors == 0, "no such tile");

// grid: any number of blocks. features: of the result.
extern "C" __global__ void __launch_bounds__(kThreads + 32, 1)
gated_linear(const __grid_constant__ TensorMap weights, const __grid_constant__ TensorMap inputs, T *out, int rows, int features) {
  extern __shared__ unsigned char raw[];
  __shared__ alignas(8) Barrier full[STAGES], empty[STAGES];
  unsigned char *const places = raw + (1024 - sharedAddress(raw) % 1024) % 1024;
  const int across = (2 * features + FEATURES - 1) / FEATURES, down = (rows + kRows - 1) / kRows, count = across * down;
  // Tiles that are made at the same time have most of what they read in common.
  const auto placeOf = [&](int tile) {
    const int first = tile / (kTogether * across) * kTogether, high = min(kTogether, down - first), within = tile % (kTogether * across);
    return make_int2(within / high, (first + within % high) * kRows);
  };
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  allowNext();
  if (threadIdx.x == 0) {
    for (int i = 0; i < STAGES; ++i) {
      initBarrier(full[i], 1);
      initBarrier(empty[i], kThreads / 32);
    }
    fenceBarriers();
  }
  __syncthreads();

  int chunk = 0;  // of all of the block's tiles
  if (warp == kThreads / 32) {
    const auto bringWeights = [&](int column, int i, int at) {
      expectBytes(full[at % STAGES], kStageBytes);
      copyTile(places + at % STAGES * kStageBytes, weights, full[at % STAGES], i * 64, 0, 0, column * (FEATURES / 16));
    };
    // Weights do not depend on the kernel in front.
    const int early = blockIdx.x < count ? min(STAGES, CHUNKS) : 0;
    if (lane == 0)
      for (int i = 0; i < early; ++i) bringWeights(placeOf(blockIdx.x).x, i, i);
    waitForPrevious();
    if (lane > 0) return;
    for (int tile = blockIdx.x; tile < count; tile += gridDim.x) {
      const int2 place = placeOf(tile);
      for (int i = 0; i < CHUNKS; ++i, ++chunk) {
        if (chunk >= STAGES) wait(empty[chunk % STAGES], chunk / STAGES - 1);
        if (chunk >= early) bringWeights(place.x, i, chunk);
        copyTile(places + chunk % STAGES * kStageBytes + kWeightBytes, inputs, full[chunk % STAGES], i * 64, place.y);
      }
    }
    return;
  }

  const int group = warp / 4;
  T *const results = reinterpret_cast<T *>(places + STAGES * kStageBytes) + warp * 8 * kStride;  // of eight of this warp's rows
  waitForPrevious();
  for (int tile = blockIdx.x; tile < count; tile += gridDim.x) {
    float d[kColumns / 2];
#pragma unroll
    for (int i = 0; i < kColumns / 2; ++i) d[i] = 0;
    for (int i = 0; i < CHUNKS; ++i, ++chunk) {
      wait(full[chunk % STAGES], chunk / STAGES);
      const unsigned char *from = places + chunk % STAGES * kStageBytes;
      const unsigned long long left = describeTile(from + kWeightBytes + group * 8192), right = describeTile(from);
      startProducts();
#pragma unroll
      for (int k = 0; k < 4; ++k) multiply(d, left + 2 * k, right + 2 * k);  // 32 bytes further
      commitProducts();
      if (i > 0) {
        waitProducts<1>();
        if (lane == 0) arrive(empty[(chunk - 1) % STAGES]);
      }
    }
    waitProducts<0>();
    if (lane == 0) arrive(empty[(chunk - 1) % STAGES]);

    const int2 place = placeOf(tile);
    const int feature = place.x * (FEATURES / 2) + lane % kVectors * 8;
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
  }
}
