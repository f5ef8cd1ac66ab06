// Attention of one query row over the keys and values of its sequence, which lie in blocks of 16 tokens: [blocks, KV_HEADS,
// 16, HEAD_DIM] each. A block of threads does the query heads that share a KV head, at most 16 of them. To the tensor cores keys
// and values are the rows, and query heads the columns, eight at a time: of these there are few. Each warp takes every WARPS-th
// cache block with a softmax of its own, so that warps never wait for each other; they are joined at the end.
//
// Nothing goes through shared memory on the way: a product does not care in which order its inner dimension is summed, nor
// in which order its columns stand, so each thread reads 16 bytes of a key or value as they lie and calls them the dimensions
// that the tensor core wants of it.
//
// FUSED: the row's query, key and value come as the projection made them; they are turned here, key and value stored, and taken
// as a block of one token. Without it that was done before, for rows of a step that see each other. SPLITS > 1: a sequence's
// blocks are dealt out to that many blocks of threads, and `decode_attention_join` joins what they found.
//
// Keys and values of earlier tokens do not depend on the previous projection: the kernel loads them before it waits for it.
//
// The number of registers allows 16 warps on a multiprocessor: more warps that wait for memory give more speed.
//
// Defined by the caller: T (bfloat16 or float16), HALF_KIND ("bf16" or "f16"), HEADS, KV_HEADS, HEAD_DIM, WARPS, FUSED, SPLITS.
#include "prelude.cuh"

constexpr int kGroup = HEADS / KV_HEADS;
constexpr int kTiles = (kGroup + 15) / 16;           // of 16 query heads
constexpr int kEights = kGroup > 8 ? 2 : 1;          // of query heads
constexpr int kRows = kEights * 8;
constexpr int kHeld = kRows + (FUSED ? 2 : 0);       // rows of the projection: queries, key and value
constexpr int kThreads = WARPS * 32;
constexpr int kTotal = HEADS + 2 * KV_HEADS;
constexpr int kHalf = HEAD_DIM / 2, kPairs = HEAD_DIM / 4;
constexpr int kShare = (kHeld * kPairs + kThreads - 1) / kThreads;  // pairs of a thread
constexpr int kSteps = HEAD_DIM / 16;                // of the product with keys
constexpr int kColumns = HEAD_DIM / 8;               // a thread's share of a value: two of each tile of the product with values
constexpr int kKeyLoad = HEAD_DIM >= 32 ? 8 : 4;     // elements of one load
constexpr int kKeyLoads = HEAD_DIM / (4 * kKeyLoad);
constexpr int kValueLoad = kColumns % 8 == 0 ? 8 : kColumns % 4 == 0 ? 4 : 2;
constexpr int kValueLoads = kColumns / kValueLoad;
constexpr int kNearer = 8;                           // cache blocks of a warp that are asked for before its query is there
static_assert(HEAD_DIM % 16 == 0 && HEAD_DIM % (4 * kKeyLoad) == 0, "a head of this size is not made of whole loads");

struct alignas(4) Two { unsigned word[1]; };
struct alignas(8) Four { unsigned word[2]; };
struct alignas(16) Eight { unsigned word[4]; };
template <int Elements> struct LoadOf { using type = Eight; };
template <> struct LoadOf<4> { using type = Four; };
template <> struct LoadOf<2> { using type = Two; };
using KeyLoad = LoadOf<kKeyLoad>::type;
using ValueLoad = LoadOf<kValueLoad>::type;

__device__ __forceinline__ unsigned pack(float low, float high) {
  unsigned both;
  asm("cvt.rn." HALF_KIND "x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
}

__device__ __forceinline__ float2 unpack(unsigned both) {
  T low, high;
  low.bits = static_cast<unsigned short>(both);
  high.bits = static_cast<unsigned short>(both >> 16);
  return make_float2(widen(low), widen(high));
}

__device__ __forceinline__ void multiply(float (&c)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32." HALF_KIND "." HALF_KIND ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

// Eight by eight elements, two of a row in each thread, turned over.
__device__ __forceinline__ unsigned transpose(unsigned two) {
  unsigned turned;
  asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(turned) : "r"(two));
  return turned;
}

// Over the threads that hold a column.
__device__ __forceinline__ float columnMax(float value) {
#pragma unroll
  for (int offset = 4; offset < 32; offset *= 2) value = fmaxf(value, __shfl_xor_sync(~0u, value, offset));
  return value;
}
__device__ __forceinline__ float columnSum(float value) {
#pragma unroll
  for (int offset = 4; offset < 32; offset *= 2) value += __shfl_xor_sync(~0u, value, offset);
  return value;
}

// A thread's part of a cache block: of two keys (its own row of each half), and of four values.
struct Tile {
  unsigned key[2][kKeyLoads][kKeyLoad / 2];
  unsigned value[4][kValueLoads][kValueLoad / 2];

  __device__ __forceinline__ void load(const T *keys, const T *values, long long block, int kvHead, int lane) {
    const int quad = lane / 4, within = lane % 4;
    const long long base = (block * KV_HEADS + kvHead) * 16 * HEAD_DIM;
#pragma unroll
    for (int j = 0; j < 2; ++j)
#pragma unroll
      for (int c = 0; c < kKeyLoads; ++c) {
        const KeyLoad raw = *reinterpret_cast<const KeyLoad *>(keys + base + (j * 8 + quad) * HEAD_DIM + (c * 4 + within) * kKeyLoad);
#pragma unroll
        for (int w = 0; w < kKeyLoad / 2; ++w) key[j][c][w] = raw.word[w];
      }
#pragma unroll
    for (int r = 0; r < 4; ++r)
#pragma unroll
      for (int c = 0; c < kValueLoads; ++c) {
        const int token = 2 * within + r % 2 + r / 2 * 8;
        const ValueLoad raw = *reinterpret_cast<const ValueLoad *>(values + base + token * HEAD_DIM + quad * kColumns + c * kValueLoad);
#pragma unroll
        for (int w = 0; w < kValueLoad / 2; ++w) value[r][c][w] = raw.word[w];
      }
  }

  // A block of one token: the first.
  __device__ __forceinline__ void loadOne(const T *itsKey, const T *itsValue, int lane) {
    const int quad = lane / 4, within = lane % 4;
#pragma unroll
    for (int c = 0; c < kKeyLoads; ++c) {
      const KeyLoad raw = *reinterpret_cast<const KeyLoad *>(itsKey + (c * 4 + within) * kKeyLoad);
#pragma unroll
      for (int w = 0; w < kKeyLoad / 2; ++w) {
        key[0][c][w] = quad == 0 ? raw.word[w] : 0;
        key[1][c][w] = 0;
      }
    }
#pragma unroll
    for (int c = 0; c < kValueLoads; ++c) {
      const ValueLoad raw = *reinterpret_cast<const ValueLoad *>(itsValue + quad * kColumns + c * kValueLoad);
#pragma unroll
      for (int w = 0; w < kValueLoad / 2; ++w) {
        value[0][c][w] = within == 0 ? raw.word[w] : 0;
#pragma unroll
        for (int r = 1; r < 4; ++r) value[r][c][w] = 0;
      }
    }
  }
};

// Into the cache of the whole card: keys and values of what a warp comes to later.
__device__ __forceinline__ void prefetchBlock(const T *keys, const T *values, long long block, int kvHead, int lane) {
  constexpr int lines = 16 * HEAD_DIM * sizeof(T) / 128;
  const long long base = (block * KV_HEADS + kvHead) * 16 * HEAD_DIM;
  for (int i = lane; i < 2 * lines; i += 32) {
    const T *line = (i < lines ? keys : values) + base + i % lines * (128 / sizeof(T));
    asm volatile("prefetch.global.L2 [%0];" ::"l"(line));
  }
}

struct Running {
  // Of the query heads 2 * within and the next, of each eight; sums only of the thread's own keys.
  float most[kEights][2], sum[kEights][2], out[kColumns / 2][kEights][4];

  // `left`: how many of the block's tokens the row may see.
  __device__ __forceinline__ void take(Tile &tile, const unsigned (&query)[kSteps][kEights][2], int left, float scale, int lane) {
    const int quad = lane / 4, within = lane % 4;
    // Keys `quad` and `quad + 8`, two heads each.
    float s[kEights][4] = {};
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      constexpr int perLoad = kKeyLoad / 4;
      const int load = step / perLoad, word = step % perLoad * 2;
#pragma unroll
      for (int n = 0; n < kEights; ++n)
        multiply(s[n], tile.key[0][load][word], tile.key[1][load][word], tile.key[0][load][word + 1], tile.key[1][load][word + 1], query[step][n][0], query[step][n][1]);
    }
#pragma unroll
    for (int n = 0; n < kEights; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) s[n][i] *= scale;
    if (left < 16) {
#pragma unroll
      for (int n = 0; n < kEights; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          if (quad + i / 2 * 8 >= left) s[n][i] = -1e30f;
      // Values behind the end may be NaN or infinite, and 0 times those is not 0.
#pragma unroll
      for (int r = 0; r < 4; ++r)
        if (2 * within + r % 2 + r / 2 * 8 >= left)
#pragma unroll
          for (int c = 0; c < kValueLoads; ++c)
#pragma unroll
            for (int w = 0; w < kValueLoad / 2; ++w) tile.value[r][c][w] = 0;
    }
    unsigned weights[kEights][2];
#pragma unroll
    for (int n = 0; n < kEights; ++n) {
      float shrink[2];
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const float top = fmaxf(most[n][e], columnMax(fmaxf(s[n][e], s[n][e + 2])));
        shrink[e] = power2(most[n][e] - top);
        most[n][e] = top;
        s[n][e] = power2(s[n][e] - top);
        s[n][e + 2] = power2(s[n][e + 2] - top);
        sum[n][e] = sum[n][e] * shrink[e] + (s[n][e] + s[n][e + 2]);
      }
#pragma unroll
      for (int half = 0; half < 2; ++half) weights[n][half] = transpose(pack(s[n][2 * half], s[n][2 * half + 1]));
#pragma unroll
      for (int j = 0; j < kColumns / 2; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i) out[j][n][i] *= shrink[i % 2];
    }
#pragma unroll
    for (int j = 0; j < kColumns / 2; ++j) {
      const int c = 2 * j / kValueLoad, w = 2 * j % kValueLoad / 2;
      const unsigned(&v)[4][kValueLoads][kValueLoad / 2] = tile.value;
#pragma unroll
      for (int n = 0; n < kEights; ++n)
        multiply(out[j][n], __byte_perm(v[0][c][w], v[1][c][w], 0x5410), __byte_perm(v[0][c][w], v[1][c][w], 0x7632), __byte_perm(v[2][c][w], v[3][c][w], 0x5410),
                 __byte_perm(v[2][c][w], v[3][c][w], 0x7632), weights[n][0], weights[n][1]);
    }
  }
};

// grid: rows, KV_HEADS * tiles, SPLITS. positions: -1 for a row that is not there. sequences: each row's row of the table, or
// null where they are the same. partial: [rows, HEADS, SPLITS, HEAD_DIM + 2], where SPLITS > 1.
extern "C" __global__ void __launch_bounds__(kThreads, HEAD_DIM <= 64 && kEights == 1 ? 512 / kThreads : 1)
decode_attention(const T *qkv, const float *cosines, const float *sines, const int *positions, const int *sequences, const int *table, const int *tableWidth, T *keys, T *values, T *out, float *partial, float scale) {
  __shared__ alignas(16) T rows[kHeld][HEAD_DIM + 8];
  __shared__ alignas(16) float mosts[WARPS][kRows], sums[WARPS][kRows], outs[WARPS][kRows][HEAD_DIM + 4];
  const int kvHead = blockIdx.y / kTiles, firstHead = kvHead * kGroup + blockIdx.y % kTiles * 16;
  const int heads = min(16, (kvHead + 1) * kGroup - firstHead);
  const long long row = blockIdx.x;
  const int split = blockIdx.z, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  allowNext();
  const int position = positions[row], width = *tableWidth;  // together: each is a wait
  if (position < 0) {
    waitForPrevious();
    T nothing;
    narrow(nothing, 0.f);
    if (SPLITS == 1)
      for (int i = threadIdx.x; i < heads * HEAD_DIM; i += kThreads) out[(row * HEADS + firstHead) * HEAD_DIM + i] = nothing;
    return;
  }
  // FUSED: the row's own token is not in the cache yet.
  const int cached = FUSED ? position : position + 1, count = (cached + 15) / 16;
  const int perSplit = (count + SPLITS - 1) / SPLITS;
  const int begin = min(count, split * perSplit), end = min(count, begin + perSplit);
  const int *blocks = table + static_cast<long long>(sequences ? sequences[row] : row) * width;

  int block = begin + warp;
  // 32 entries of the table at a time.
  int ids = block + lane * WARPS < end ? blocks[block + lane * WARPS] : 0;
  const int ownBlock = blocks[position / 16];
  Tile tile, ahead;
  if (block < end) tile.load(keys, values, __shfl_sync(~0u, ids, 0), kvHead, lane);
  if (block + WARPS < end) ahead.load(keys, values, __shfl_sync(~0u, ids, 1), kvHead, lane);
  if (FUSED)
    for (int round = 2; round < kNearer && block + round * WARPS < end; ++round) prefetchBlock(keys, values, __shfl_sync(~0u, ids, round), kvHead, lane);
  const auto angles = [&](const float *table, int i) { return reinterpret_cast<const float2 *>(table + static_cast<long long>(position) * kHalf)[i % kPairs]; };
  const float2 cosine = angles(cosines, threadIdx.x), sine = angles(sines, threadIdx.x);

  waitForPrevious();
  // Queries, then key and value: a thread has two neighbours and the two that they are turned with.
  unsigned low[kShare], high[kShare];
#pragma unroll
  for (int p = 0; p < kShare; ++p) {
    const int i = threadIdx.x + p * kThreads, held = i / kPairs;
    const int head = held < kRows ? firstHead + held : HEADS + (held - kRows) * KV_HEADS + kvHead;
    low[p] = high[p] = 0;
    if (held < heads || (held >= kRows && held < kHeld)) {
      const T *from = qkv + (row * kTotal + head) * HEAD_DIM + i % kPairs * 2;
      low[p] = *reinterpret_cast<const unsigned *>(from);
      high[p] = *reinterpret_cast<const unsigned *>(from + kHalf);
    }
  }
#pragma unroll
  for (int p = 0; p < kShare; ++p) {
    const int i = threadIdx.x + p * kThreads, held = i / kPairs, d = i % kPairs * 2;
    if (held >= kHeld) break;
    if (FUSED && held <= kRows) {
      const float2 c = kThreads % kPairs ? angles(cosines, i) : cosine, s = kThreads % kPairs ? angles(sines, i) : sine;
      const float2 x = unpack(low[p]), y = unpack(high[p]);
      low[p] = pack(turnLow(x.x, y.x, c.x, s.x), turnLow(x.y, y.y, c.y, s.y));
      high[p] = pack(turnHigh(x.x, y.x, c.x, s.x), turnHigh(x.y, y.y, c.y, s.y));
    }
    *reinterpret_cast<unsigned *>(&rows[held][d]) = low[p];
    *reinterpret_cast<unsigned *>(&rows[held][d + kHalf]) = high[p];
    if (FUSED && held >= kRows && split == 0 && blockIdx.y % kTiles == 0) {
      T *to = (held == kRows ? keys : values) + ((static_cast<long long>(ownBlock) * KV_HEADS + kvHead) * 16 + position % 16) * HEAD_DIM + d;
      *reinterpret_cast<unsigned *>(to) = low[p];
      *reinterpret_cast<unsigned *>(to + kHalf) = high[p];
    }
  }
  __syncthreads();

  const int quad = lane / 4, within = lane % 4;
  unsigned query[kSteps][kEights][2];
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    constexpr int perLoad = kKeyLoad / 4;
    const int d = (step / perLoad * 4 + within) * kKeyLoad + step % perLoad * 4;
#pragma unroll
    for (int n = 0; n < kEights; ++n)
#pragma unroll
      for (int i = 0; i < 2; ++i) query[step][n][i] = *reinterpret_cast<const unsigned *>(&rows[quad + 8 * n][d + 2 * i]);
  }

  Running running;
#pragma unroll
  for (int n = 0; n < kEights; ++n) {
    running.most[n][0] = running.most[n][1] = -1e30f;
    running.sum[n][0] = running.sum[n][1] = 0;
#pragma unroll
    for (int j = 0; j < kColumns / 2; ++j)
#pragma unroll
      for (int i = 0; i < 4; ++i) running.out[j][n][i] = 0;
  }
  for (int round = 2; block < end; ++round) {
    running.take(tile, query, cached - block * 16, scale, lane);
    tile = ahead;
    block += WARPS;
    const int next = block + WARPS;
    if (round % 32 == 0) ids = next + lane * WARPS < end ? blocks[next + lane * WARPS] : 0;
    if (next < end) ahead.load(keys, values, __shfl_sync(~0u, ids, round % 32), kvHead, lane);
  }
  if (FUSED && split == 0 && warp == (end - begin) % WARPS) {
    tile.loadOne(rows[kRows], rows[kHeld - 1], lane);
    running.take(tile, query, 1, scale, lane);
  }

#pragma unroll
  for (int n = 0; n < kEights; ++n)
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const int head = 8 * n + 2 * within + e;
      const float sum = columnSum(running.sum[n][e]);
      if (quad == 0) {
        mosts[warp][head] = running.most[n][e];
        sums[warp][head] = sum;
      }
      float2 *to = reinterpret_cast<float2 *>(&outs[warp][head][quad * kColumns]);
#pragma unroll
      for (int j = 0; j < kColumns / 2; ++j) to[j] = make_float2(running.out[j][n][e], running.out[j][n][e + 2]);
    }
  __syncthreads();
  for (int i = threadIdx.x; i < heads * (HEAD_DIM / 4); i += kThreads) {
    const int head = i / (HEAD_DIM / 4), d = i % (HEAD_DIM / 4) * 4;
    float most = mosts[0][head];
#pragma unroll
    for (int w = 1; w < WARPS; ++w) most = fmaxf(most, mosts[w][head]);
    float sum = 0, found[4] = {};
#pragma unroll
    for (int w = 0; w < WARPS; ++w) {
      const float weight = power2(mosts[w][head] - most);
      const float4 part = *reinterpret_cast<const float4 *>(&outs[w][head][d]);
      sum += sums[w][head] * weight;
      found[0] += part.x * weight;
      found[1] += part.y * weight;
      found[2] += part.z * weight;
      found[3] += part.w * weight;
    }
    if (SPLITS == 1) {
      const float share = 1.f / sum;
      *reinterpret_cast<uint2 *>(out + (row * HEADS + firstHead + head) * HEAD_DIM + d) =
          make_uint2(pack(found[0] * share, found[1] * share), pack(found[2] * share, found[3] * share));
    } else {
      float *to = partial + ((row * HEADS + firstHead + head) * SPLITS + split) * (HEAD_DIM + 2);
#pragma unroll
      for (int e = 0; e < 4; ++e) to[d + e] = found[e];
      if (d == 0) {
        to[HEAD_DIM] = most;
        to[HEAD_DIM + 1] = sum;
      }
    }
  }
}

// grid: rows, HEADS; HEAD_DIM threads.
extern "C" __global__ void __launch_bounds__(HEAD_DIM)
decode_attention_join(const int *positions, const float *partial, T *out) {
  allowNext();
  waitForPrevious();
  const long long at = static_cast<long long>(blockIdx.x) * HEADS + blockIdx.y;
  const float *from = partial + at * SPLITS * (HEAD_DIM + 2);
  T result;
  narrow(result, 0.f);
  if (positions[blockIdx.x] >= 0) {
    float most = -1e30f, sum = 0, found = 0;
    for (int i = 0; i < SPLITS; ++i) most = fmaxf(most, from[i * (HEAD_DIM + 2) + HEAD_DIM]);
    for (int i = 0; i < SPLITS; ++i) {
      const float weight = power2(from[i * (HEAD_DIM + 2) + HEAD_DIM] - most);
      sum += from[i * (HEAD_DIM + 2) + HEAD_DIM + 1] * weight;
      found += from[i * (HEAD_DIM + 2) + threadIdx.x] * weight;
    }
    narrow(result, found / sum);
  }
  out[at * HEAD_DIM + threadIdx.x] = result;
}
