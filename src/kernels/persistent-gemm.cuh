// A product of many tiles on Hopper, and what is made of it. As many blocks as the card runs at once take tiles of 128 rows and
// kColumns of the weight's features in turns. One warp brings tiles of both factors with bulk copies into STAGES places of shared
// memory; two warpgroups multiply, 64 rows each, and finish what they have made. A row is summed in the order of the inner
// dimension: what comes out depends on nothing else.
//
// Defined by the caller: STAGES, CHUNKS (of 64 elements of the inner dimension), and what projection.cuh asks for.

constexpr int kRows = 128, kThreads = 256;  // that multiply
constexpr int kWeightBytes = kColumns * 128, kStageBytes = kWeightBytes + kRows * 128;

// By kThreads + 32 threads, of `count` tiles.
//   placeOf(tile): its column of tiles, and its first row.
//   bring(to, barrier, x, column): copies what the weight has for a column of tiles, from x of the inner dimension on.
//   finish(d, place, behind, warp, lane): by a warp that has 16 rows of the tile, `warp * 16` and on; a thread's sums are those of
//     `multiply`. `behind` is shared memory behind the tiles.
template <class PlaceOf, class Bring, class Finish>
__device__ __forceinline__ void persistentGemm(const TensorMap &inputs, int count, PlaceOf placeOf, Bring bring, Finish finish) {
  extern __shared__ unsigned char raw[];
  __shared__ alignas(8) Barrier full[STAGES], empty[STAGES];
  unsigned char *const places = raw + (1024 - sharedAddress(raw) % 1024) % 1024;
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
      bring(places + at % STAGES * kStageBytes, full[at % STAGES], i * 64, column);
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
  unsigned char *const behind = places + STAGES * kStageBytes;
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
    finish(d, placeOf(tile), behind, warp, lane);
  }
}
