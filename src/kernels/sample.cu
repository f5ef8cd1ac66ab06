// The next token of each row of logits, drawn as on the CPU (native/sampling.cc): one uniform number of Philox, of the row's
// key and position, and the first token at which the running sum of probabilities passes it. With it the log-probabilities
// before and after temperature and filters.
//
// sample_sums reads the logits once (sums.cuh); where the head has made the sums, it is not needed. sample_filter, only where a row
// has filters, finds the least logit they leave, and what is kept of each chunk; by the sums it knows which chunks it need not
// read. sample_pick joins the sums, finds the chunk, and reads that one again. sample_top adds what is wanted of the likeliest.
//
// Rows with position -1 are not there. Settings are temperature (0: the likeliest token), topK, topP, minP of each row.
//
// Defined by the caller: what sums.cuh asks for.
#include "prelude.cuh"
#include "sums.cuh"

constexpr bool kWhole = VOCABULARY % kSize == 0;  // rows start on a 16-byte boundary
constexpr int kWarps = 8;
constexpr int kGroup = 4;

typedef unsigned long long Whole;

__device__ __forceinline__ float minusInfinity() { return __uint_as_float(0xff800000u); }

__device__ __forceinline__ float warpMax(float value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) value = fmaxf(value, __shfl_xor_sync(~0u, value, offset));
  return value;
}
__device__ __forceinline__ Whole warpMax(Whole value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) value = max(value, __shfl_xor_sync(~0u, value, offset));
  return value;
}
__device__ __forceinline__ float warpSum(float value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(~0u, value, offset);
  return value;
}

// 16-bit logits as numbers in the same order.
__device__ __forceinline__ unsigned orderOf(float value) {
  T narrowed;
  narrow(narrowed, value);
  const unsigned bits = narrowed.bits;
  return bits & 0x8000u ? ~bits & 0xffffu : bits | 0x8000u;
}
__device__ __forceinline__ float valueOf(unsigned order) {
  T value;
  value.bits = static_cast<unsigned short>(order & 0x8000u ? order & 0x7fffu : ~order & 0xffffu);
  return widen(value);
}

// The thread's logits of a chunk, those beyond the last -infinity.
__device__ __forceinline__ void loadChunk(const T *x, int chunk, int lane, float (&held)[kSize]) {
  const int first = chunk * kChunk + lane * kSize;
  if (kWhole) {
    Vector<T> v;
    if (first < VOCABULARY) v = load(x, first / kSize);
#pragma unroll
    for (int i = 0; i < kSize; ++i) held[i] = first < VOCABULARY ? widen(v.at[i]) : minusInfinity();
  } else {
#pragma unroll
    for (int i = 0; i < kSize; ++i) held[i] = first + i < VOCABULARY ? widen(x[first + i]) : minusInfinity();
  }
}

// Tells the whole warp each id of the chunk that cannot be drawn.
template <class F> __device__ __forceinline__ void eachBanned(const Forbidden &without, int chunk, F use) {
  if (!without.touch(chunk)) return;
  const int lane = threadIdx.x % 32;
  for (int k = without.from; k < without.to; k += 32) {
    const int id = k + lane < without.to ? without.ids[k + lane] : -1;
    for (unsigned here = __ballot_sync(~0u, id >= 0 && id / kChunk == chunk); here; here &= here - 1) use(__shfl_sync(~0u, id, __ffs(here) - 1));
  }
}

__device__ __forceinline__ void ban(float (&held)[kSize], const Forbidden &without, int chunk, int lane) {
  eachBanned(without, chunk, [&](int id) {
#pragma unroll
    for (int i = 0; i < kSize; ++i)
      if (id == chunk * kChunk + lane * kSize + i) held[i] = minusInfinity();
  });
}

__device__ __forceinline__ float largest(const float (&held)[kSize]) {
  float most = kNothing;
#pragma unroll
  for (int i = 0; i < kSize; ++i) most = fmaxf(most, held[i]);
  return warpMax(most);
}

__device__ __forceinline__ float powers(const float (&held)[kSize], float most, float scale, float least) {
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kSize; ++i) sum += held[i] < least ? 0.f : power2((held[i] - most) * scale * kLog2);
  return warpSum(sum);
}

// grid: a warp for every kGroup chunks, rows.
extern "C" __global__ void __launch_bounds__(kWarps * 32)
sample_sums(const T *logits, const int *positions, const Settings *settings, const int *forbiddenOffsets, const int *forbidden, Sums *sums) {
  allowNext();
  waitForPrevious();
  const long long row = blockIdx.y;
  const int first = (blockIdx.x * kWarps + threadIdx.x / 32) * kGroup, lane = threadIdx.x % 32;
  if (first >= kChunks || positions[row] < 0) return;
  const float scale = settings[row].scale();
  const Forbidden without(forbidden, forbiddenOffsets, row);
  float held[kGroup][kSize];
#pragma unroll
  for (int i = 0; i < kGroup; ++i) loadChunk(logits + row * VOCABULARY, first + i, lane, held[i]);
#pragma unroll
  for (int i = 0; i < kGroup; ++i) {
    Sums found;
    found.best = found.most = largest(held[i]);
    found.kept = found.total = powers(held[i], found.most, 1.f, minusInfinity());
    if (scale != 1.f || without.touch(first + i)) {
      ban(held[i], without, first + i, lane);
      found.best = largest(held[i]);
      found.kept = powers(held[i], found.best, scale, minusInfinity());
    }
    if (lane == 0 && first + i < kChunks) sums[row * kChunks + first + i] = found;
  }
}

// Philox4x32-10 (Salmon et al. 2011), as the CPU has it.
__device__ double uniform(unsigned key0, unsigned key1, unsigned counter) {
  unsigned c0 = counter, c1 = 0, c2 = 0, c3 = 0;
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const unsigned high0 = __umulhi(0xD2511F53u, c0), low0 = 0xD2511F53u * c0, high1 = __umulhi(0xCD9E8D57u, c2), low1 = 0xCD9E8D57u * c2;
    const unsigned n0 = high1 ^ c1 ^ key0, n2 = high0 ^ c3 ^ key1;
    c0 = n0;
    c1 = low1;
    c2 = n2;
    c3 = low0;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return ((c0 >> 5) * 67108864.0 + (c1 >> 6)) / 9007199254740992.0;
}

template <class V, int Warps> __device__ __forceinline__ V blockReduce(V value, V (&parts)[Warps], V (*join)(V, V)) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) value = join(value, __shfl_xor_sync(~0u, value, offset));
  __syncthreads();  // the reduction before this one may still be read
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  value = parts[0];
#pragma unroll
  for (int i = 1; i < Warps; ++i) value = join(value, parts[i]);
  return value;
}
__device__ __forceinline__ float larger(float a, float b) { return fmaxf(a, b); }
template <class V> __device__ __forceinline__ V plus(V a, V b) { return a + b; }
__device__ __forceinline__ int smaller(int a, int b) { return min(a, b); }

// The first of the chunk's tokens, in the order of their ids, at which the sum of weights passes `target`; by one warp.
__device__ int pickIn(const T *x, int chunk, float best, float scale, float least, double target, const Forbidden &without) {
  const int lane = threadIdx.x % 32, first = chunk * kChunk + lane * kSize;
  float weights[kSize];
  loadChunk(x, chunk, lane, weights);
  ban(weights, without, chunk, lane);
#pragma unroll
  for (int i = 0; i < kSize; ++i) weights[i] = weights[i] < least ? 0.f : power2((weights[i] - best) * scale * kLog2);
  double own = 0;
#pragma unroll
  for (int i = 0; i < kSize; ++i) own += weights[i];
  double upTo = own;
#pragma unroll
  for (int offset = 1; offset < 32; offset *= 2) {
    const double before = __shfl_up_sync(~0u, upTo, offset);
    if (lane >= offset) upTo += before;
  }
  const unsigned passes = __ballot_sync(~0u, upTo > target), some = __ballot_sync(~0u, own > 0);
  // Rounding may leave the target beyond the last.
  const int owner = passes ? __ffs(passes) - 1 : 31 - __clz(some);
  int found = -1;
  double sum = upTo - own;
#pragma unroll
  for (int i = 0; i < kSize; ++i) {
    const bool before = !(sum > target);
    sum += weights[i];
    if (weights[i] > 0 && before) found = first + i;
  }
  return __shfl_sync(~0u, found, owner);
}

// grid: rows. results: [steps, planes, rows], first of the planes ids, raw and processed log-probabilities. Where there are several
// steps, ids, positions and left go on to the next: the token becomes the row's input, until it has none of its budget left; a
// row is written at the step it is at, and its position is -1 after its last. places: where in the results each row is written;
// -1: nowhere.
extern "C" __global__ void __launch_bounds__(kWarps * 32)
sample_pick(const T *logits, int *positions, const Settings *settings, const int *forbiddenOffsets, const int *forbidden, const Sums *sums, const float *leasts, const int *keys, const int *forced, int *ids, const int *budgets, int *left, int *results, int *places, int rows, int planes) {
  allowNext();
  waitForPrevious();
  __shared__ float floats[kWarps];
  __shared__ double doubles[kWarps];
  __shared__ int ints[kWarps];
  __shared__ double kept[kChunks];
  const long long row = blockIdx.x;
  const int position = positions[row], place = position < 0 ? -1 : (ids ? budgets[row] - left[row] : 0) * planes * rows + static_cast<int>(row);
  if (places && threadIdx.x == 0) places[row] = place;
  if (position < 0) return;
  int *result = results + place;
  const T *x = logits + row * VOCABULARY;
  const Settings want = settings[row];
  const float scale = want.scale(), least = leasts ? leasts[row] : minusInfinity();
  const Forbidden without(forbidden, forbiddenOffsets, row);
  const Sums *mine = sums + row * kChunks;

  float most = kNothing, best = kNothing;
  for (int i = threadIdx.x; i < kChunks; i += kWarps * 32) {
    most = fmaxf(most, mine[i].most);
    best = fmaxf(best, mine[i].best);
  }
  most = blockReduce(most, floats, larger);
  best = blockReduce(best, floats, larger);
  double total = 0, all = 0;
  int leader = kChunks;
  for (int i = threadIdx.x; i < kChunks; i += kWarps * 32) {
    const Sums one = mine[i];
    total += static_cast<double>(one.total) * power2((one.most - most) * kLog2);
    kept[i] = static_cast<double>(one.kept) * power2((one.best - best) * scale * kLog2);
    all += kept[i];
    if (one.best == best) leader = min(leader, i);
  }
  total = blockReduce(total, doubles, plus<double>);
  all = blockReduce(all, doubles, plus<double>);
  leader = blockReduce(leader, ints, smaller);
  if (threadIdx.x >= 32) return;

  int chosen = forced[row];
  // NaN and infinity among the logits make the sum NaN.
  const bool broken = !(total > 0) || !(total < 1e30) || (chosen < 0 && !(all > 0));
  if (chosen < 0 && !broken) {
    int chunk = leader;
    double target = 0;
    if (!want.greedy()) {
      target = uniform(keys[2 * row], keys[2 * row + 1], position) * all;
      // Each thread takes chunks that follow one another.
      constexpr int per = (kChunks + 31) / 32;
      const int first = threadIdx.x * per;
      double own = 0;
      for (int i = first; i < min(first + per, kChunks); ++i) own += kept[i];
      double upTo = own;
#pragma unroll
      for (int offset = 1; offset < 32; offset *= 2) {
        const double before = __shfl_up_sync(~0u, upTo, offset);
        if (threadIdx.x >= offset) upTo += before;
      }
      const unsigned passes = __ballot_sync(~0u, upTo > target), some = __ballot_sync(~0u, own > 0);
      const int owner = passes ? __ffs(passes) - 1 : 31 - __clz(some);
      double sum = upTo - own, before = sum;
      int found = first;
      bool passed = false;
      for (int i = first; i < min(first + per, kChunks); ++i) {
        if (!passed && kept[i] > 0) {
          found = i;
          before = sum;
        }
        sum += kept[i];
        passed = passed || sum > target;
      }
      chunk = __shfl_sync(~0u, found, owner);
      before = __shfl_sync(~0u, before, owner);
      // In the chunk's own measure.
      target = (target - before) * mine[chunk].kept / kept[chunk];
      chosen = pickIn(x, chunk, mine[chunk].best, scale, least, target, without);
    } else {
      float held[kSize];
      loadChunk(x, chunk, threadIdx.x, held);
      ban(held, without, chunk, threadIdx.x);
      int found = VOCABULARY;
#pragma unroll
      for (int i = 0; i < kSize; ++i)
        if (held[i] == best) found = min(found, chunk * kChunk + static_cast<int>(threadIdx.x) * kSize + i);
#pragma unroll
      for (int offset = 16; offset > 0; offset /= 2) found = min(found, __shfl_xor_sync(~0u, found, offset));
      chosen = found;
    }
  }
  if (broken || chosen >= VOCABULARY) chosen = -1;
  bool out = false;
  eachBanned(without, chosen / kChunk, [&](int id) { out = out || id == chosen; });
  if (threadIdx.x > 0) return;
  float raw = __uint_as_float(0x7fffffffu), processed = raw;
  if (chosen >= 0) {
    const float value = widen(x[chosen]);
    out = out || value < least;
    raw = static_cast<float>(static_cast<double>(value - most) - log(total));
    processed = out ? minusInfinity() : static_cast<float>(static_cast<double>((value - best) * scale) - log(all));
  }
  result[0] = chosen;
  result[rows] = __float_as_int(raw);
  result[2 * rows] = __float_as_int(processed);
  if (ids) {
    ids[row] = max(chosen, 0);
    left[row] -= 1;
    positions[row] = chosen < 0 || left[row] <= 0 ? -1 : position + 1;
  }
}

// Hands the likeliest tokens to one thread, in turn, those that are as likely in the order of their ids; by one warp. `bests`
// is where it writes.
template <class F> __device__ __forceinline__ void likeliest(const T *x, const Sums *sums, float (&bests)[kChunks], int top, F use) {
  const int lane = threadIdx.x % 32;
  const auto keyOf = [](float value, int index) { return static_cast<Whole>(orderOf(value)) << 32 | ~static_cast<unsigned>(index); };
  for (int i = lane; i < kChunks; i += 32) bests[i] = sums[i].most;
  __syncwarp();
  Whole last = ~0ull;  // keys from here on are taken
  for (int n = 0; n < top; ++n) {
    Whole best = 0;
    for (int i = lane; i < kChunks; i += 32) best = max(best, keyOf(bests[i], i));
    const int chunk = static_cast<int>(~static_cast<unsigned>(warpMax(best)));
    float held[kSize];
    loadChunk(x, chunk, lane, held);
    Whole keys[kSize], found = 0, next = 0;
#pragma unroll
    for (int i = 0; i < kSize; ++i) {
      keys[i] = keyOf(held[i], chunk * kChunk + lane * kSize + i);
      if (keys[i] < last) found = max(found, keys[i]);
    }
    last = warpMax(found);
#pragma unroll
    for (int i = 0; i < kSize; ++i)
      if (keys[i] < last) next = max(next, keys[i]);
    next = warpMax(next);
    __syncwarp();
    if (lane == 0) {
      bests[chunk] = next > 0 ? valueOf(static_cast<unsigned>(next >> 32)) : minusInfinity();
      use(n, static_cast<int>(~static_cast<unsigned>(last)), valueOf(static_cast<unsigned>(last >> 32)));
    }
    __syncwarp();
  }
}

// grid: rows. After sample_pick, of the logits as they are, in the planes behind its three: the token's rank, `top` of the likeliest
// tokens, and their log-probabilities.
extern "C" __global__ void __launch_bounds__(kWarps * 32)
sample_top(const T *logits, const Sums *sums, const int *places, int *results, int rows, int top) {
  allowNext();
  waitForPrevious();
  __shared__ float floats[kWarps];
  __shared__ double doubles[kWarps];
  __shared__ int ints[kWarps];
  __shared__ float bests[kChunks];
  const long long row = blockIdx.x;
  if (places[row] < 0) return;
  int *result = results + places[row];
  const T *x = logits + row * VOCABULARY;
  const Sums *mine = sums + row * kChunks;
  const float value = widen(x[max(result[0], 0)]);
  int above = 0;
  for (int chunk = threadIdx.x / 32; chunk < kChunks; chunk += kWarps) {
    if (!(mine[chunk].most > value)) continue;
    float held[kSize];
    loadChunk(x, chunk, threadIdx.x % 32, held);
#pragma unroll
    for (int i = 0; i < kSize; ++i) above += held[i] > value ? 1 : 0;
  }
  above = blockReduce(above, ints, plus<int>);
  float most = kNothing;
  for (int i = threadIdx.x; i < kChunks; i += kWarps * 32) most = fmaxf(most, mine[i].most);
  most = blockReduce(most, floats, larger);
  double total = 0;
  for (int i = threadIdx.x; i < kChunks; i += kWarps * 32) total += static_cast<double>(mine[i].total) * power2((mine[i].most - most) * kLog2);
  total = blockReduce(total, doubles, plus<double>);
  if (threadIdx.x >= 32) return;
  if (threadIdx.x == 0) result[3 * rows] = above + 1;
  likeliest(x, mine, bests, top, [&](int n, int id, float logit) {
    result[(4 + n) * rows] = id;
    result[(4 + top + n) * rows] = __float_as_int(static_cast<float>(static_cast<double>(logit - most) - log(total)));
  });
}

constexpr int kThreads = 512;
constexpr int kFine = 32, kCoarse = 65536 / kFine;
// Weights as whole numbers, whose sum does not depend on the order.
constexpr float kUnit = 68719476736.f;

// Tokens, or weights in two halves: shared memory adds 32 bits at once, not 64.
struct Histogram {
  unsigned low[kCoarse], high[kCoarse];
  __device__ __forceinline__ Whole at(int bin) const { return static_cast<Whole>(high[bin]) << 32 | low[bin]; }
  __device__ __forceinline__ void add(int bin, Whole value) {
    const unsigned part = static_cast<unsigned>(value), before = atomicAdd(&low[bin], part);
    const unsigned rest = static_cast<unsigned>(value >> 32) + (before + part < before ? 1u : 0u);
    if (rest > 0) atomicAdd(&high[bin], rest);
  }
};

// The largest bin with which, counted from the top, there are `want`; `want` is then what it has to give. By the first warp: each
// thread has bins that follow one another.
__device__ int descend(const Histogram &bins, int size, Whole &want) {
  const int per = size / 32, lane = threadIdx.x, top = size - 1 - lane * per;
  Whole own = 0;
  int lowest = size;  // of those that are not empty
  for (int i = 0; i < per; ++i) {
    const int bin = top - (i + lane) % per;  // no two threads in one bank
    const Whole value = bins.at(bin);
    own += value;
    if (value > 0) lowest = min(lowest, bin);
  }
  Whole upTo = own;
#pragma unroll
  for (int offset = 1; offset < 32; offset *= 2) {
    const Whole before = __shfl_up_sync(~0u, upTo, offset);
    if (lane >= offset) upTo += before;
  }
  const unsigned passes = __ballot_sync(~0u, own > 0 && upTo >= want), some = __ballot_sync(~0u, own > 0);
  if (!some) return 0;
  const int owner = passes ? __ffs(passes) - 1 : 31 - __clz(some);
  Whole left = want - min(want, upTo - own);
  int found = lowest;
  if (lane == owner) {
    for (int bin = top; bin > lowest; --bin) {
      const Whole value = bins.at(bin);
      if (value > 0 && value >= left) {
        found = bin;
        break;
      }
      left -= value;
    }
  }
  want = __shfl_sync(~0u, left, owner);
  return __shfl_sync(~0u, found, owner);
}

// Hands the logits that may be drawn, of every chunk whose best is not below `least`, to a warp.
template <class F> __device__ __forceinline__ void eachChunk(const T *x, const float (&bests)[kChunks], float least, const Forbidden &without, F use) {
  const int lane = threadIdx.x % 32;
  for (int chunk = threadIdx.x / 32; chunk < kChunks; chunk += kThreads / 32) {
    if (bests[chunk] < least) continue;
    float held[kSize];
    loadChunk(x, chunk, lane, held);
    ban(held, without, chunk, lane);
    use(chunk, held);
  }
}

// grid: rows. Of rows with filters the least logit that topK, topP and minP leave, as an element's value, and in `sums` what is
// kept; of others -infinity.
extern "C" __global__ void __launch_bounds__(kThreads, 2)
sample_filter(const T *logits, const int *positions, const Settings *settings, const int *forbiddenOffsets, const int *forbidden, Sums *sums, float *leasts) {
  allowNext();
  waitForPrevious();
  __shared__ Histogram bins;
  __shared__ float bests[kChunks], floats[kThreads / 32];
  __shared__ Whole wholes[kThreads / 32];
  __shared__ int picked;
  __shared__ Whole rest;
  const long long row = blockIdx.x;
  const Settings want = settings[row];
  if (positions[row] < 0 || !want.filters()) {
    if (threadIdx.x == 0) leasts[row] = minusInfinity();
    return;
  }
  const T *x = logits + row * VOCABULARY;
  Sums *mine = sums + row * kChunks;
  const float scale = want.scale();
  const Forbidden without(forbidden, forbiddenOffsets, row);
  float top = kNothing;
  for (int i = threadIdx.x; i < kChunks; i += kThreads) {
    bests[i] = mine[i].best;
    top = fmaxf(top, bests[i]);
  }
  top = blockReduce(top, floats, larger);
  const auto weightOf = [&](float value) { return power2((value - top) * scale * kLog2) * kUnit; };
  const auto sumOf = [&](Whole value) { return blockReduce(value, wholes, plus<Whole>); };

  const auto clear = [&]() {
    __syncthreads();
    for (int i = threadIdx.x; i < kCoarse; i += kThreads) bins.low[i] = bins.high[i] = 0;
    __syncthreads();
  };
  const auto add = [&](int bin, float value, bool weighted) { bins.add(bin, weighted ? static_cast<Whole>(weightOf(value)) : 1); };
  // The histogram of the chunks' best ones, which are tokens too.
  const auto countBests = [&](bool weighted) {
    clear();
    for (int i = threadIdx.x; i < kChunks; i += kThreads) add(orderOf(bests[i]) / kFine, bests[i], weighted);
    __syncthreads();
  };
  // The histogram of the logits from `least` on, coarse, or fine within one coarse bin.
  const auto count = [&](unsigned least, int within, bool weighted) {
    clear();
    eachChunk(x, bests, valueOf(within < 0 ? least : max(least, within * kFine)), without, [&](int, const float (&held)[kSize]) {
#pragma unroll
      for (int i = 0; i < kSize; ++i) {
        const unsigned order = orderOf(held[i]);
        if (!(held[i] > minusInfinity()) || order < least || (within >= 0 && static_cast<int>(order / kFine) != within)) continue;
        add(within < 0 ? order / kFine : order % kFine, held[i], weighted);
      }
    });
    __syncthreads();
  };
  // Where the histogram, from the top, has as much as `goal`, which is then what that bin has to give.
  const auto pick = [&](int size, Whole &goal) {
    if (threadIdx.x < 32) {
      const int bin = descend(bins, size, goal);
      if (threadIdx.x == 0) {
        picked = bin;
        rest = goal;
      }
    }
    __syncthreads();
    goal = rest;
    return static_cast<unsigned>(picked);
  };
  // The least of the first `goal` of the logits from `least` on.
  const auto leastOf = [&](unsigned least, Whole goal, bool weighted) {
    count(least, -1, weighted);
    const unsigned coarse = pick(kCoarse, goal);
    count(least, coarse, weighted);
    return max(least, coarse * kFine + pick(kFine, goal));
  };
  // Where the chunks' best ones already are that many, or that much, none below can be among the first.
  const auto leastOfBests = [&](Whole goal, bool weighted) {
    countBests(weighted);
    return pick(kCoarse, goal) * kFine;
  };
  const bool byCount = want.topK > 0 && want.topK < VOCABULARY, byShare = want.topP < 1;
  unsigned least = 0;
  if (byCount) {
    const Whole goal = static_cast<Whole>(want.topK);
    least = leastOf(goal <= kChunks ? leastOfBests(goal, false) : 0, goal, false);
  }
  if (byShare) {
    Whole all = 0, ofBests = 0;
    if (byCount) {
      count(least, -1, true);
      for (int i = threadIdx.x; i < kCoarse; i += kThreads) all += bins.at(i);
    } else {
      for (int i = threadIdx.x; i < kChunks; i += kThreads) {
        all += static_cast<Whole>(weightOf(bests[i]) * static_cast<double>(mine[i].kept));
        ofBests += static_cast<Whole>(weightOf(bests[i]));
      }
    }
    const Whole goal = static_cast<Whole>(static_cast<double>(sumOf(all)) * static_cast<double>(want.topP));
    if (sumOf(ofBests) >= goal) least = leastOfBests(goal, true);
    least = leastOf(least, goal, true);
  }
  float left = byCount || byShare ? valueOf(least) : minusInfinity();
  if (want.minP > 0) left = fmaxf(left, top + logf(want.minP) / scale);
  left = fminf(left, top);
  if (threadIdx.x == 0) leasts[row] = left;
  for (int i = threadIdx.x; i < kChunks; i += kThreads)
    if (bests[i] < left) mine[i].kept = 0;
  eachChunk(x, bests, left, without, [&](int chunk, const float (&held)[kSize]) {
    const float kept = powers(held, bests[chunk], scale, left);
    if (threadIdx.x % 32 == 0) mine[chunk].kept = kept;
  });
}
