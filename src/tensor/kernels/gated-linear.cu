// SwiGLU of a projection of many rows on Hopper: out = silu(gate) * up, where gate and up are x @ weight.T, rounded. As many blocks
// as the card runs at once take tiles of 128 rows and FEATURES of the weight in turns. Of a block's three warpgroups
//   two multiply, 64 rows each, and put their sums, rounded, into shared memory;
//   one warp of the third brings tiles of both factors with bulk copies into STAGES places of shared memory;
//   its other warps make the result of one warpgroup's sums while the other multiplies: there is room for those of one, so
//   that the two are half a tile apart, and the tensor cores never wait for what is not a product.
// Everything is summed in registers, in the order of the inner dimension: a row's result depends on nothing else.
//
// Of the weight's features a tile has eight gates, then the eight ups that belong to them.
//
// Defined by the caller: T (bfloat16), FEATURES, STAGES, CHUNKS (of 64 elements of the inner dimension), and what projection.cuh
// asks for.
#include "prelude.cuh"
#include "hopper.cuh"
#include "projection.cuh"

constexpr int kRows = 128, kThreads = 256;      // that multiply
constexpr int kFinishers = 3;                   // warps
constexpr int kWeightBytes = FEATURES * 128, kStageBytes = kWeightBytes + kRows * 128;
constexpr int kStride = FEATURES + 8;           // of a row of sums, in elements: no two threads of a store meet in a bank
constexpr int kVectors = FEATURES / 16;         // of a row of the result
static_assert(kColumns == FEATURES && kVectors == 16, "no such tile");

// grid: any number of blocks. features: of the result.
extern "C" __global__ void __launch_bounds__(kThreads + 128, 1)
gated_linear(const __grid_constant__ TensorMap weights, const __grid_constant__ TensorMap inputs, T *out, int rows, int features) {
  extern __shared__ unsigned char raw[];
  __shared__ alignas(8) Barrier full[STAGES], empty[STAGES], summed, finished;
  unsigned char *const places = raw + (1024 - sharedAddress(raw) % 1024) % 1024;
  T *const sums = reinterpret_cast<T *>(places + STAGES * kStageBytes);  // [64][kStride]
  const int across = (2 * features + FEATURES - 1) / FEATURES, down = (rows + kRows - 1) / kRows, count = across * down;
  // Tiles that are made at the same time have most of what they read in common: of the smaller of the two all of it.
  const bool rowsFirst = rows < 2 * features;
  const auto firstFeatureOf = [&](int tile) { return (rowsFirst ? tile / down : tile % across) * FEATURES; };
  const auto firstRowOf = [&](int tile) { return (rowsFirst ? tile % down : tile / across) * kRows; };
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  allowNext();
  if (threadIdx.x == 0) {
    for (int i = 0; i < STAGES; ++i) {
      initBarrier(full[i], 1);
      initBarrier(empty[i], kThreads / 32);
    }
    initBarrier(summed, 4);
    initBarrier(finished, kFinishers);
    fenceBarriers();
  }
  __syncthreads();
  waitForPrevious();

  int chunk = 0;  // of all of the block's tiles
  if (warp < kThreads / 32) {
    const int group = warp / 4, height = warp % 4 * 16 + lane / 4;
    // Half tiles are finished in order: those of the first warpgroup and of the second in turns.
    for (int tile = blockIdx.x, turn = group; tile < count; tile += gridDim.x, turn += 2) {
      float d[kColumns / 2];
#pragma unroll
      for (int i = 0; i < kColumns / 2; ++i) d[i] = 0;
      for (int i = 0; i < CHUNKS; ++i, ++chunk) {
        const int place = chunk % STAGES;
        wait(full[place], chunk / STAGES);
        const unsigned char *from = places + place * kStageBytes;
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

      if (turn > 0) wait(finished, turn - 1);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        unsigned *const to = reinterpret_cast<unsigned *>(sums + (height + 8 * half) * kStride) + lane % 4;
#pragma unroll
        for (int j = 0; j < kColumns / 8; ++j) to[j * 4] = narrowTwo(d[j * 4 + half * 2], d[j * 4 + half * 2 + 1]);
      }
      __syncwarp();
      if (lane == 0) arrive(summed);
    }
    return;
  }

  if (warp == kThreads / 32) {
    if (lane > 0) return;
    for (int tile = blockIdx.x; tile < count; tile += gridDim.x)
      for (int i = 0; i < CHUNKS; ++i, ++chunk) {
        const int place = chunk % STAGES;
        unsigned char *to = places + place * kStageBytes;
        if (chunk >= STAGES) wait(empty[place], chunk / STAGES - 1);
        expectBytes(full[place], kStageBytes);
        copyTile(to, weights, full[place], i * 64, 0, 0, firstFeatureOf(tile) / 16);
        copyTile(to + kWeightBytes, inputs, full[place], i * 64, firstRowOf(tile));
      }
    return;
  }

  // Half a warp has a row of the result.
  const int first = (warp - kThreads / 32 - 1) * 2 + lane / kVectors, vector = lane % kVectors;
  int turn = 0;
  for (int tile = blockIdx.x; tile < count; tile += gridDim.x)
    for (int group = 0; group < 2; ++group, ++turn) {
      const int feature = firstFeatureOf(tile) / 2 + vector * 8, firstRow = firstRowOf(tile) + group * 64;
      wait(summed, turn);
#pragma unroll 4
      for (int row = first; row < 64; row += kFinishers * 2) {
        if (firstRow + row >= rows || feature >= features) continue;
        const T *from = sums + row * kStride + vector * 16;
        Vector<T> result = load(from, 0);
        const Vector<T> up = load(from, 1);
#pragma unroll
        for (int i = 0; i < 8; ++i) narrow(result.at[i], silu(widen(result.at[i])) * widen(up.at[i]));
        store(out + static_cast<long long>(firstRow + row) * features, feature / 8, result);
      }
      __syncwarp();
      if (lane == 0) arrive(finished);
    }
}
