// The next token of each row of logits, drawn as on the CPU (native/sampling.cc): one uniform number of Philox, of the row's
// key and position, and the first token at which the running sum of probabilities passes it. With it the log-probabilities
// before and after temperature and filters.
//
// sample_sums reads the logits once (sums.cuh); where the head has made the sums, it is not needed. sample_pick joins them, finds
// the chunk, and reads that one again. sample_least, before both and only where a row has filters, finds the least logit they
// leave.
//
// Rows with position -1 are not there. Settings are temperature (0: the likeliest token), topK, topP, minP of each row.
//
// Defined by the caller: T (bfloat16 or float16), VOCABULARY, LANE.
#include "prelude.cuh"
#include "sums.cuh"

constexpr bool kWhole = VOCABULARY % kSize == 0;  // rows start on a 16-byte boundary
constexpr int kWarps = 8;

__device__ __forceinline__ float minusInfinity() { return __uint_as_float(0xff800000u); }

__device__ __forceinline__ float warpMax(float value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) value = fmaxf(value, __shfl_xor_sync(~0u, value, offset));
  return value;
}
__device__ __forceinline__ float warpSum(float value) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(~0u, value, offset);
  return value;
}

// Which logit a thread's i-th is. Vectors of neighbouring threads are neighbours, so that a warp reads without gaps.
__device__ __forceinline__ int column(int chunk, int lane, int i) { return chunk * kChunk + (i / kSize * 32 + lane) * kSize + i % kSize; }

__device__ __forceinline__ void loadChunk(const T *x, int chunk, int lane, float (&held)[kLane]) {
#pragma unroll
  for (int i = 0; i < kLane; i += kSize) {
    const int at = column(chunk, lane, i);
    if (kWhole) {
      Vector<T> v;
      if (at < VOCABULARY) v = load(x, at / kSize);
#pragma unroll
      for (int j = 0; j < kSize; ++j) held[i + j] = at < VOCABULARY ? widen(v.at[j]) : minusInfinity();
    } else {
#pragma unroll
      for (int j = 0; j < kSize; ++j) held[i + j] = at + j < VOCABULARY ? widen(x[at + j]) : minusInfinity();
    }
  }
}

__device__ __forceinline__ void ban(float (&held)[kLane], int chunk, int lane, const int *banned, int from, int to) {
  for (int k = from; k < to; ++k) {
    const int id = banned[k];
    if (id / kChunk != chunk) continue;
#pragma unroll
    for (int i = 0; i < kLane; ++i)
      if (column(chunk, lane, i) == id) held[i] = minusInfinity();
  }
}

__device__ __forceinline__ float largest(const float (&held)[kLane]) {
  float most = kNothing;
#pragma unroll
  for (int i = 0; i < kLane; ++i) most = fmaxf(most, held[i]);
  return most;
}

// grid: a warp for each chunk, rows.
extern "C" __global__ void __launch_bounds__(kWarps * 32)
sample_sums(const T *logits, const int *positions, const Settings *settings, const int *bannedOffsets, const int *banned, const float *leasts, Sums *sums) {
  allowNext();
  waitForPrevious();
  const long long row = blockIdx.y;
  const int chunk = blockIdx.x * kWarps + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (chunk >= kChunks || positions[row] < 0) return;
  const Settings want = settings[row];
  const int from = bannedOffsets[row], to = bannedOffsets[row + 1];
  float held[kLane];
  loadChunk(logits + row * VOCABULARY, chunk, lane, held);
  Sums found;
  found.most = warpMax(largest(held));
  float part = 0;
#pragma unroll
  for (int i = 0; i < kLane; ++i) part += power2((held[i] - found.most) * kLog2);
  found.best = found.most;
  found.kept = found.total = warpSum(part);
  const float scale = want.scale(), least = leasts ? leasts[row] : minusInfinity();
  if (scale != 1.f || from < to || least > minusInfinity()) {
    ban(held, chunk, lane, banned, from, to);
    found.best = warpMax(largest(held));
    part = 0;
#pragma unroll
    for (int i = 0; i < kLane; ++i) part += held[i] < least ? 0.f : power2((held[i] - found.best) * scale * kLog2);
    found.kept = warpSum(part);
  }
  if (lane == 0) sums[row * kChunks + chunk] = found;
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

template <class V> __device__ __forceinline__ V blockReduce(V value, V (&parts)[kWarps], V (*join)(V, V)) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) value = join(value, __shfl_xor_sync(~0u, value, offset));
  __syncthreads();  // the reduction before this one may still be read
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  value = parts[0];
#pragma unroll
  for (int i = 1; i < kWarps; ++i) value = join(value, parts[i]);
  return value;
}
__device__ __forceinline__ float larger(float a, float b) { return fmaxf(a, b); }
__device__ __forceinline__ double plus(double a, double b) { return a + b; }
__device__ __forceinline__ int smaller(int a, int b) { return min(a, b); }

// The first of the chunk's tokens, in the order of their ids, at which the sum of weights passes `target`; by one warp, each
// thread with kLane tokens that follow one another.
__device__ int pickIn(const T *x, int chunk, float best, float scale, float least, double target, const int *banned, int from, int to) {
  const int lane = threadIdx.x % 32, first = chunk * kChunk + lane * kLane;
  float weights[kLane];
#pragma unroll
  for (int i = 0; i < kLane; ++i) {
    const float value = first + i < VOCABULARY ? widen(x[first + i]) : minusInfinity();
    weights[i] = value < least ? 0.f : power2((value - best) * scale * kLog2);
  }
  for (int k = from; k < to; ++k)
#pragma unroll
    for (int i = 0; i < kLane; ++i)
      if (banned[k] == first + i) weights[i] = 0;
  double own = 0;
#pragma unroll
  for (int i = 0; i < kLane; ++i) own += weights[i];
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
  for (int i = 0; i < kLane; ++i) {
    const bool before = !(sum > target);
    sum += weights[i];
    if (weights[i] > 0 && before) found = first + i;
  }
  return __shfl_sync(~0u, found, owner);
}

// grid: rows. results: [steps, 3, rows] of ids, raw and processed log-probabilities. Where there are several steps, ids,
// positions and left go on to the next: the token becomes the row's input, until it has none of its budget left; a row is
// written at the step it is at, and its position is -1 after its last.
extern "C" __global__ void __launch_bounds__(kWarps * 32)
sample_pick(const T *logits, int *positions, const Settings *settings, const int *bannedOffsets, const int *banned, const float *leasts, const Sums *sums, const int *keys, const int *forced, int *ids, const int *budgets, int *left, int *results, int rows) {
  allowNext();
  waitForPrevious();
  __shared__ float floats[kWarps];
  __shared__ double doubles[kWarps];
  __shared__ int ints[kWarps];
  __shared__ double kept[kChunks];
  const long long row = blockIdx.x;
  const int position = positions[row];
  if (position < 0) return;
  int *result = results + (ids ? budgets[row] - left[row] : 0) * 3 * rows + row;
  const T *x = logits + row * VOCABULARY;
  const Settings want = settings[row];
  const float scale = want.scale(), least = leasts ? leasts[row] : minusInfinity();
  const int from = bannedOffsets[row], to = bannedOffsets[row + 1];
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
  total = blockReduce(total, doubles, plus);
  all = blockReduce(all, doubles, plus);
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
      chosen = pickIn(x, chunk, mine[chunk].best, scale, least, target, banned, from, to);
    } else {
      float held[kLane];
      loadChunk(x, chunk, threadIdx.x, held);
      ban(held, chunk, threadIdx.x, banned, from, to);
      int found = VOCABULARY;
#pragma unroll
      for (int i = 0; i < kLane; ++i)
        if (held[i] == best) found = min(found, column(chunk, threadIdx.x, i));
#pragma unroll
      for (int offset = 16; offset > 0; offset /= 2) found = min(found, __shfl_xor_sync(~0u, found, offset));
      chosen = found;
    }
  }
  if (threadIdx.x > 0) return;
  float raw = __uint_as_float(0x7fffffffu), processed = raw;
  if (broken || chosen >= VOCABULARY) chosen = -1;
  if (chosen >= 0) {
    const float value = widen(x[chosen]);
    bool out = value < least;
    for (int k = from; k < to; ++k) out = out || banned[k] == chosen;
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

// 16-bit logits as numbers in the same order.
__device__ __forceinline__ unsigned orderOf(T value) {
  const unsigned bits = value.bits;
  return bits & 0x8000u ? ~bits & 0xffffu : bits | 0x8000u;
}
__device__ __forceinline__ T valueOf(unsigned order) {
  T value;
  value.bits = static_cast<unsigned short>(order & 0x8000u ? order & 0x7fffu : ~order & 0xffffu);
  return value;
}

constexpr int kThreads = 1024;
constexpr int kFine = 32, kCoarse = 65536 / kFine;
// Weights as whole numbers, whose sum does not depend on the order.
constexpr double kUnit = 1099511627776.0;

struct Histogram {
  unsigned counts[kCoarse];
  unsigned long long weights[kCoarse];
};

// The largest bin with which, counted from the top, there are `want` tokens (or weight); `want` is then what it has to give. By
// the first warp: each thread has bins that follow one another.
__device__ int descend(const Histogram &bins, int size, unsigned long long &want, bool byCount) {
  const int per = size / 32, lane = threadIdx.x, top = size - 1 - lane * per;
  const auto value = [&](int bin) -> unsigned long long { return byCount ? bins.counts[bin] : bins.weights[bin]; };
  unsigned long long own = 0;
  int lowest = size;  // of those that are not empty
  for (int i = 0; i < per; ++i) {
    const int bin = top - (i + lane) % per;  // no two threads in one bank
    own += value(bin);
    if (bins.counts[bin] > 0) lowest = min(lowest, bin);
  }
  unsigned long long upTo = own;
#pragma unroll
  for (int offset = 1; offset < 32; offset *= 2) {
    const unsigned long long before = __shfl_up_sync(~0u, upTo, offset);
    if (lane >= offset) upTo += before;
  }
  const unsigned passes = __ballot_sync(~0u, lowest < size && upTo >= want), some = __ballot_sync(~0u, lowest < size);
  if (!some) return -1;
  const int owner = passes ? __ffs(passes) - 1 : 31 - __clz(some);
  unsigned long long left = want - min(want, upTo - own);
  int found = lowest;
  if (lane == owner) {
    for (int bin = top; bin > lowest; --bin) {
      if (bins.counts[bin] == 0) continue;
      if (value(bin) >= left) {
        found = bin;
        break;
      }
      left -= value(bin);
    }
  }
  want = __shfl_sync(~0u, left, owner);
  return __shfl_sync(~0u, found, owner);
}

// Hands every logit of a row that may be drawn to one of the threads.
template <class F> __device__ __forceinline__ void eachAllowed(const T *x, const int *banned, int from, int to, F use) {
  const auto offer = [&](int id, T value) {
    for (int k = from; k < to; ++k)
      if (banned[k] == id) return;
    use(value);
  };
  if (kWhole) {
    for (int v = threadIdx.x; v < VOCABULARY / kSize; v += kThreads) {
      const Vector<T> held = load(x, v);
#pragma unroll
      for (int j = 0; j < kSize; ++j) offer(v * kSize + j, held.at[j]);
    }
  } else {
    for (int i = threadIdx.x; i < VOCABULARY; i += kThreads) offer(i, x[i]);
  }
}

// grid: rows. The least logit that topK, topP and minP leave, as an element's value; -infinity where a row has none of them.
extern "C" __global__ void __launch_bounds__(kThreads)
sample_least(const T *logits, const int *positions, const Settings *settings, const int *bannedOffsets, const int *banned, float *leasts) {
  allowNext();
  waitForPrevious();
  __shared__ Histogram bins;
  __shared__ unsigned bests[32];
  __shared__ int picked;
  __shared__ unsigned long long share;
  const long long row = blockIdx.x;
  const Settings want = settings[row];
  if (positions[row] < 0 || !want.filters()) {
    if (threadIdx.x == 0) leasts[row] = minusInfinity();
    return;
  }
  const T *x = logits + row * VOCABULARY;
  const float scale = want.scale();
  const int from = bannedOffsets[row], to = bannedOffsets[row + 1];
  unsigned own = 0;
  eachAllowed(x, banned, from, to, [&](T value) { own = max(own, orderOf(value)); });
  unsigned best = own;
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) best = max(best, __shfl_xor_sync(~0u, best, offset));
  if (threadIdx.x % 32 == 0) bests[threadIdx.x / 32] = best;
  __syncthreads();
  for (int i = 0; i < 32; ++i) best = max(best, bests[i]);
  const float top = widen(valueOf(best));

  const auto clear = [&](int size) {
    __syncthreads();
    for (int i = threadIdx.x; i < size; i += kThreads) {
      bins.counts[i] = 0;
      bins.weights[i] = 0;
    }
    __syncthreads();
  };
  // The histogram of the logits from `least` on, coarse, or fine within one coarse bin.
  const auto count = [&](unsigned least, int within, bool weighted) {
    clear(within < 0 ? kCoarse : kFine);
    eachAllowed(x, banned, from, to, [&](T value) {
      const unsigned order = orderOf(value);
      if (order < least || (within >= 0 && static_cast<int>(order / kFine) != within)) return;
      const int bin = within < 0 ? order / kFine : order % kFine;
      atomicAdd(&bins.counts[bin], 1u);
      if (weighted) atomicAdd(&bins.weights[bin], static_cast<unsigned long long>(power2((widen(value) - top) * scale * kLog2) * kUnit));
    });
    __syncthreads();
  };
  const auto pick = [&](int size, unsigned long long &goal, bool byCount) {
    if (threadIdx.x < 32) {
      const int bin = descend(bins, size, goal, byCount);
      if (threadIdx.x == 0) picked = max(bin, 0);
    }
    __syncthreads();
    return static_cast<unsigned>(picked);
  };
  const bool byCount = want.topK > 0 && want.topK < VOCABULARY, byShare = want.topP < 1;
  unsigned least = 0;
  if (byCount) {
    // Each thread's best one is a token: where that many of these are, none below can be among the first.
    if (want.topK <= kThreads) {
      clear(kCoarse);
      if (own > 0) atomicAdd(&bins.counts[own / kFine], 1u);
      __syncthreads();
      unsigned long long goal = static_cast<unsigned long long>(want.topK);
      least = pick(kCoarse, goal, true) * kFine;
    }
    unsigned long long goal = static_cast<unsigned long long>(want.topK);
    count(least, -1, false);
    const unsigned coarse = pick(kCoarse, goal, true);
    count(least, coarse, false);
    least = coarse * kFine + pick(kFine, goal, true);
  }
  if (byShare) {
    count(least, -1, true);
    if (threadIdx.x < 32) {
      unsigned long long all = 0;
      for (int i = threadIdx.x; i < kCoarse; i += 32) all += bins.weights[i];
#pragma unroll
      for (int offset = 16; offset > 0; offset /= 2) all += __shfl_xor_sync(~0u, all, offset);
      if (threadIdx.x == 0) share = static_cast<unsigned long long>(static_cast<double>(all) * static_cast<double>(want.topP));
    }
    __syncthreads();
    unsigned long long goal = share;
    const unsigned coarse = pick(kCoarse, goal, false);
    count(least, coarse, true);
    least = max(least, coarse * kFine + pick(kFine, goal, false));
  }
  if (threadIdx.x == 0) {
    float result = byCount || byShare ? widen(valueOf(least)) : minusInfinity();
    if (want.minP > 0) result = fmaxf(result, top + logf(want.minP) / scale);
    leasts[row] = fminf(result, top);
  }
}
