// A projection of few rows on Hopper: out[row, feature] = sum over k of x[row, k] * weight[feature, k]. A block makes a tile of
// ROWS x FEATURES. A tensor core's matrix is 64 high and as wide as one likes: of few rows, features are the height, 64 of each of
// GROUPS warpgroups, and rows the width; where rows fill it they are the height (UPRIGHT). One thread brings tiles of both with bulk
// copies into STAGES places of shared memory; the others multiply.
//
// What takes time here is waiting, so the inner dimension is divided twice: among SPLITS blocks of a cluster, and in a block
// among DEPTH times as many warpgroups, each with every DEPTH-th chunk of it, since one product after another on the same sums
// takes three times as long as the tensor cores need. Parts are summed in a fixed order through shared memory: a row's result
// does not depend on timing. Each block of a division finishes some of the rows, and the others send it their parts of these.
// Upright and undivided sums are finished where they are, in registers.
//
// Blocks that read the same weights for other rows are in one cluster: neighbours that ask for the same at about the same time
// are answered once, and the way from the card's cache is the narrowest here.
//
// Weights do not depend on the kernel in front of this one: it starts while that one runs (programmatic dependent launch), and
// has its first weights by the time their rows come. Nothing is brought nearer than that: copies are made in the order they
// are asked for, and rows would wait behind weights of later tiles.
//
// A norm in front of a projection is two things: a factor for every element, put on where the element is made, and one for
// every row, put on here, after the sum. So what is read is x * norm's weight, with the sums of x * x beside it ([PARTS, rows]).
//
// KIND 0, plain: out = sum * factor + bias.
// KIND 1, gated: weights are gate and up, and out = silu(gate) * up; eight features of one, then the same eight of the other.
// KIND 2, stream: the sum and its residual go on as the residual, in float32; as out, which is it times the next norm's weight; and
//   as sums of squares.
//
// Defined by the caller: T (bfloat16), KIND, ROWS, FEATURES, UPRIGHT, DEPTH, SPLITS, STAGES, LATE (whether the next kernel starts
// when products are done), CHUNKS (of 64 elements of the inner dimension), PARTS of the squares (0: no norm) and its WIDTH, and
// what projection.cuh asks for.
#include "prelude.cuh"
#include "hopper.cuh"
#include "projection.cuh"

constexpr int kGroups = (UPRIGHT ? ROWS : FEATURES) / 64;
constexpr int kWeightBytes = FEATURES * 128, kStageBytes = kWeightBytes + ROWS * 128;
constexpr int kThreads = kGroups * DEPTH * 128;   // that multiply
constexpr int kStride = FEATURES + 4;             // of a row of sums, in words: no two threads of a store meet in a bank
constexpr int kSums = ROWS * kStride;             // of one part
constexpr int kTake = KIND == 1 ? 16 : 8;         // sums of a row that one thread finishes
constexpr int kTakers = FEATURES / kTake;         // threads that share a row
constexpr int kAtOnce = kThreads / kTakers;       // rows that are finished together
constexpr int kOwn = ROWS / SPLITS;               // rows that this block finishes
constexpr int kOwnBytes = kOwn * kStride * 4;
constexpr int kRounds = (kOwn + kAtOnce - 1) / kAtOnce;
constexpr int kSharedBytes = STAGES * kStageBytes + (SPLITS > 1 ? SPLITS * kOwnBytes : 0) + 1024;
// Of a multiprocessor, where there is room, and registers for so many sums.
constexpr int kBlocks = kThreads <= 256 && kColumns <= 128 && kSharedBytes <= 113 * 1024 ? 2 : 1;
constexpr bool kDirect = UPRIGHT && DEPTH * SPLITS == 1 && KIND != 2;
constexpr int kFactors = kDirect ? 2 : (ROWS + kThreads - 1) / kThreads;  // of a thread
constexpr int kHeld = kFactors * PARTS <= 32 ? PARTS : 0;  // squares that are asked for before the products
constexpr int kMost = (CHUNKS + SPLITS - 1) / SPLITS;  // chunks of a block
static_assert(kDirect || DEPTH * kSums * 4 <= STAGES * kStageBytes, "the sums do not fit where the tiles were");
static_assert(kColumns == (UPRIGHT ? FEATURES : ROWS) && (UPRIGHT ? ROWS : FEATURES) % 64 == 0 && kColumns % 8 == 0 && kColumns <= 256 && ROWS <= 256 && FEATURES <= 256 && FEATURES % kTake == 0, "no such tile");
static_assert(ROWS % SPLITS == 0 && CHUNKS >= SPLITS && (KIND != 2 || 32 % kTakers == 0), "no such split");
// A place always has the same warpgroups' chunks: a barrier that others may be rounds behind of tells them nothing.
static_assert(STAGES >= kMost || (STAGES % DEPTH == 0 && STAGES > DEPTH), "no such stages");

__device__ __forceinline__ void add(float *sum, const float *four) {
  const float4 part = *reinterpret_cast<const float4 *>(four);
  sum[0] += part.x;
  sum[1] += part.y;
  sum[2] += part.z;
  sum[3] += part.w;
}

// grid: SPLITS, tiles of features, tiles of rows; a cluster has all of the first, and as many of the last as it has room for.
extern "C" __global__ void __launch_bounds__(kThreads + 32, kBlocks)
stream_linear(const __grid_constant__ TensorMap weights, const __grid_constant__ TensorMap inputs, const float *squares, float eps, const T *bias,
              float *residual, const T *norm, T *out, float *squaresOut, int rows, int features) {
  extern __shared__ unsigned char raw[];
  __shared__ alignas(8) Barrier full[STAGES], empty[STAGES], arrived;
  __shared__ float factors[ROWS];
  unsigned char *const tiles = raw + (1024 - sharedAddress(raw) % 1024) % 1024;
  const int split = blockIdx.x, firstFeature = blockIdx.y * FEATURES, firstRow = blockIdx.z * ROWS;
  const int begin = split * CHUNKS / SPLITS, count = (split + 1) * CHUNKS / SPLITS - begin;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (!LATE) allowNext();

  if (warp == kThreads / 32) {
    const auto bringWeights = [&](int i) {
      const int at = (begin + i) * 64;
      unsigned char *to = tiles + i % STAGES * kStageBytes;
      expectBytes(full[i % STAGES], kStageBytes);
      if (KIND == 1) copyTile(to, weights, full[i % STAGES], at, 0, 0, firstFeature / 16);
      else copyTile(to, weights, full[i % STAGES], at, firstFeature);
    };
    const auto bringRows = [&](int i) { copyTile(tiles + i % STAGES * kStageBytes + kWeightBytes, inputs, full[i % STAGES], (begin + i) * 64, firstRow); };
    if (lane == 0) {
      for (int i = 0; i < STAGES; ++i) {
        initBarrier(full[i], 1);
        initBarrier(empty[i], kGroups * 4);
      }
      if (SPLITS > 1) {
        initBarrier(arrived, 1);
        expectBytes(arrived, (SPLITS - 1) * kOwnBytes);
      }
      fenceBarriers();
      for (int i = 0; i < min(count, STAGES); ++i) bringWeights(i);
    }
    __syncwarp();
    if (SPLITS > 1) arriveCluster();
    __syncthreads();
    waitForPrevious();
    if (lane == 0) {
      for (int i = 0; i < min(count, STAGES); ++i) bringRows(i);
      for (int i = STAGES; i < count; ++i) {
        wait(empty[i % STAGES], i / STAGES - 1);
        bringWeights(i);
        bringRows(i);
      }
    }
    __syncwarp();
    if (LATE) allowNext();
    if (SPLITS > 1) {
      waitCluster();
      arriveCluster();
      waitCluster();
    }
    return;
  }

  // What this thread finishes: eight features of some rows. All that is not a product is asked for before the products.
  const int taker = threadIdx.x % kTakers, feature = (KIND == 1 ? firstFeature / 2 : firstFeature) + taker * 8;
  const auto ownRow = [&](int round) { return round * kAtOnce + static_cast<int>(threadIdx.x) / kTakers; };
  const int firstOwn = firstRow + split * kOwn;
  const auto mine = [&](int n) { return threadIdx.x < kAtOnce * kTakers && n < kOwn && firstOwn + n < rows && feature < features; };
  const auto vectorOf = [&](int n) { return (static_cast<long long>(firstOwn + n) * features + feature) / 8; };
  Vector<T> biases, norms;
  Vector<float> streams[kRounds][2];
  if (KIND != 1 && bias && feature < features) biases = load(bias, feature / 8);
  if (KIND == 2 && feature < features) norms = load(norm, feature / 8);
  float d[kColumns / 2];
#pragma unroll
  for (int i = 0; i < kColumns / 2; ++i) d[i] = 0;
  if (SPLITS > 1) arriveCluster();
  __syncthreads();
  waitForPrevious();
  const int group = warp / 4 % kGroups, depth = warp / 4 / kGroups;
  const int height = group * 64 + warp % 4 * 16 + lane / 4, column = lane % 4 * 2;  // where a thread's sums begin
  const auto square = [&](int j, int i) { return squares[i * rows + min(firstRow + (kDirect ? height + 8 * j : j * kThreads + static_cast<int>(threadIdx.x)), rows - 1)]; };
  float parts[kFactors][kHeld > 0 ? kHeld : 1];
#pragma unroll
  for (int j = 0; j < kFactors; ++j)
#pragma unroll
    for (int i = 0; i < kHeld; ++i) parts[j][i] = square(j, i);
  if (KIND == 2)
#pragma unroll
    for (int round = 0; round < kRounds; ++round)
      if (mine(ownRow(round)))
#pragma unroll
        for (int i = 0; i < 2; ++i) streams[round][i] = load(residual, vectorOf(ownRow(round)) * 2 + i);

  for (int i = depth; i < count; i += DEPTH) {
    wait(full[i % STAGES], i / STAGES);
    const unsigned char *from = tiles + i % STAGES * kStageBytes;
    const unsigned long long left = describeTile(from + (UPRIGHT ? kWeightBytes : 0) + group * 8192), right = describeTile(from + (UPRIGHT ? 0 : kWeightBytes));
    startProducts();
#pragma unroll
    for (int k = 0; k < 4; ++k) multiply(d, left + 2 * k, right + 2 * k);  // 32 bytes further
    commitProducts();
    if (i >= DEPTH) {
      waitProducts<1>();
      if (lane == 0) arrive(empty[(i - DEPTH) % STAGES]);
    }
  }
  waitProducts<0>();
  if (LATE) allowNext();
  const auto factorOf = [&](int j) {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < PARTS; ++i) sum += kHeld > 0 ? parts[j][i] : square(j, i);
    return PARTS > 0 ? rsqrtf(sum * (1.f / WIDTH) + eps) : 1.f;
  };
  if (kDirect) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = firstRow + height + 8 * half;
      const float factor = factorOf(half);
#pragma unroll
      for (int j = 0; j < kColumns / 8; j += KIND == 1 ? 2 : 1) {
        const int at = (KIND == 1 ? firstFeature / 2 + j * 4 : firstFeature + j * 8) + column;
        float two[2];
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          two[e] = d[j * 4 + half * 2 + e] * factor;
          if (KIND == 1) two[e] = silu(two[e]) * (d[(j + 1) % (kColumns / 8) * 4 + half * 2 + e] * factor);
          else if (bias && at < features) two[e] += widen(bias[at + e]);
        }
        if (row < rows && at < features) *reinterpret_cast<unsigned *>(out + static_cast<long long>(row) * features + at) = narrowTwo(two[0], two[1]);
      }
    }
    return;
  }
  syncThreads<kThreads>();
  // From here on the tiles' memory holds sums: [DEPTH][ROWS][kStride].
  float *const sums = reinterpret_cast<float *>(tiles);
  {
    constexpr int down = UPRIGHT ? kStride : 1, across = UPRIGHT ? 1 : kStride;
    const int at = depth * kSums + height * down + column * across;
#pragma unroll
    for (int j = 0; j < kColumns / 8; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e) sums[at + e / 2 * 8 * down + (j * 8 + e % 2) * across] = d[j * 4 + e];
  }
#pragma unroll
  for (int j = 0; j < kFactors; ++j) {
    const int n = j * kThreads + threadIdx.x;
    if (n < ROWS) factors[n] = factorOf(j);
  }
  syncThreads<kThreads>();
  const float *const received = reinterpret_cast<const float *>(tiles + STAGES * kStageBytes);  // [SPLITS][kOwn][kStride]
  if (SPLITS > 1) {
    if (DEPTH > 1) {
      for (int at = threadIdx.x * 4; at < kSums; at += kThreads * 4) {
        float sum[4] = {};
#pragma unroll
        for (int i = 0; i < DEPTH; ++i) add(sum, sums + i * kSums + at);
        *reinterpret_cast<float4 *>(sums + at) = make_float4(sum[0], sum[1], sum[2], sum[3]);
      }
    }
    fenceCopies();
    syncThreads<kThreads>();
    waitCluster();  // since the beginning: every block has its barriers
    if (threadIdx.x < SPLITS && threadIdx.x != split)
      copyToPeer(received + split * (kOwnBytes / 4), sums + threadIdx.x * (kOwnBytes / 4), kOwnBytes, arrived, rankInCluster() - split + threadIdx.x);
    wait(arrived, 0);
    __syncwarp();
    arriveCluster();  // what was sent here has come
  }

#pragma unroll
  for (int round = 0; round < kRounds; ++round) {
    const int n = ownRow(round);
    float total = 0;
    if (mine(n)) {
      const int at = n * kStride + taker * kTake;
      float sum[kTake] = {};
#pragma unroll
      for (int part = 0; part < (SPLITS > 1 ? SPLITS : DEPTH); ++part) {
        const float *from = SPLITS == 1 ? sums + part * kSums : part == split ? sums + split * (kOwnBytes / 4) : received + part * (kOwnBytes / 4);
#pragma unroll
        for (int i = 0; i < kTake; i += 4) add(sum + i, from + at + i);
      }
      const float factor = factors[split * kOwn + n];
      Vector<T> result;
#pragma unroll
      for (int i = 0; i < kTake; ++i) sum[i] *= factor;
      if (KIND == 1) {
#pragma unroll
        for (int i = 0; i < 8; ++i) narrow(result.at[i], silu(sum[i]) * sum[8 % kTake + i]);
      } else {
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          float value = bias ? sum[i] + widen(biases.at[i]) : sum[i];
          if (KIND == 2) {
            value += streams[round][i / 4].at[i % 4];
            streams[round][i / 4].at[i % 4] = value;
            total += value * value;
            value *= widen(norms.at[i]);
          }
          narrow(result.at[i], value);
        }
      }
      if (KIND == 2)
#pragma unroll
        for (int i = 0; i < 2; ++i) store(residual, vectorOf(n) * 2 + i, streams[round][i]);
      store(out, vectorOf(n), result);
    }
    if (KIND == 2) {
#pragma unroll
      for (int offset = kTakers / 2; offset > 0; offset /= 2) total += __shfl_xor_sync(~0u, total, offset);
      if (taker == 0 && n < kOwn && firstOwn + n < rows) squaresOut[blockIdx.y * rows + firstOwn + n] = total;
    }
  }
  if (SPLITS > 1) waitCluster();  // what was sent from here has come
}
