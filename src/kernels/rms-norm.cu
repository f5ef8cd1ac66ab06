// Residual add + RMSNorm. A row is held in registers by ROW_THREADS threads, a power of two; a block holds ROWS rows.
//
// Defined by the caller: T (element type), HIDDEN, RESIDUAL (1: a residual is added), ROW_THREADS, ROWS, STRIPS.
#include "prelude.cuh"

constexpr int kSize = Vector<T>::size;
constexpr int kVectors = HIDDEN / kSize;
constexpr int kPer = (kVectors + ROW_THREADS - 1) / ROW_THREADS;  // vectors of a thread
constexpr int kThreads = ROW_THREADS * ROWS;

static_assert(HIDDEN % kSize == 0, "a row is made of whole vectors");

// Whether the i-th vector of this thread exists; known to the compiler for all but the last.
__device__ __forceinline__ bool mine(int i, int lane) { return (i + 1) * ROW_THREADS <= kVectors || lane + i * ROW_THREADS < kVectors; }

// The sum over a row's threads, in all of them and in a fixed order. Every thread of the block must come here.
__device__ __forceinline__ float rowSum(float value) {
  constexpr int width = ROW_THREADS < 32 ? ROW_THREADS : 32;
#pragma unroll
  for (int offset = width / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
  if constexpr (ROW_THREADS > 32) {
    constexpr int warps = ROW_THREADS / 32;
    __shared__ float parts[kThreads / 32];
    const int first = threadIdx.x / ROW_THREADS * warps;
    __syncthreads();  // the sum before this one may still be read
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
    __syncthreads();
    value = 0;
#pragma unroll
    for (int i = 0; i < warps; ++i) value += parts[first + i];
  }
  return value;
}

extern "C" __global__ void __launch_bounds__(kThreads)
rms_norm_forward(const T *x, const T *residual, const T *weight, T *normed, T *sum, float *rstd, float eps, long long rows) {
  const int lane = threadIdx.x % ROW_THREADS;
  const long long row = static_cast<long long>(blockIdx.x) * ROWS + threadIdx.x / ROW_THREADS;
  const bool live = row < rows;
  const long long base = row * kVectors + lane;
  Vector<T> held[kPer], added[kPer];
#pragma unroll
  for (int i = 0; i < kPer; ++i) {
    if (live && mine(i, lane)) {
      held[i] = load(x, base + i * ROW_THREADS);
      if (RESIDUAL) added[i] = load(residual, base + i * ROW_THREADS);
    }
  }
  float squares = 0;
#pragma unroll
  for (int i = 0; i < kPer; ++i) {
    if (!(live && mine(i, lane))) continue;
#pragma unroll
    for (int j = 0; j < kSize; ++j) {
      // The sum is normed as it is stored, so that backward sees the same numbers.
      if (RESIDUAL) narrow(held[i].at[j], widen(held[i].at[j]) + widen(added[i].at[j]));
      const float value = widen(held[i].at[j]);
      squares += value * value;
    }
    if (RESIDUAL) store(sum, base + i * ROW_THREADS, held[i]);
  }
  const float scale = rsqrtf(rowSum(squares) * (1.f / HIDDEN) + eps);
  if (!live) return;
  if (lane == 0) rstd[row] = scale;
#pragma unroll
  for (int i = 0; i < kPer; ++i) {
    if (!mine(i, lane)) continue;
    const Vector<T> w = load(weight, lane + i * ROW_THREADS);
    Vector<T> out;
#pragma unroll
    for (int j = 0; j < kSize; ++j) narrow(out.at[j], widen(held[i].at[j]) * scale * widen(w.at[j]));
    store(normed, base + i * ROW_THREADS, out);
  }
}

// Writes a block's part of the weight's gradient.
__device__ __forceinline__ void storePartial(float *partial, const float (&weightGradient)[kPer][kSize]) {
  const int slot = threadIdx.x / ROW_THREADS, lane = threadIdx.x % ROW_THREADS;
  float *target = partial + static_cast<long long>(blockIdx.x) * HIDDEN;
  if constexpr (ROWS > 1) {
    // One slot after the other adds to the block's sum: a fixed order again.
    __shared__ float total[HIDDEN];
    for (int turn = 0; turn < ROWS; ++turn) {
      if (slot == turn) {
#pragma unroll
        for (int i = 0; i < kPer; ++i) {
          if (!mine(i, lane)) continue;
#pragma unroll
          for (int j = 0; j < kSize; ++j) {
            float &at = total[(lane + i * ROW_THREADS) * kSize + j];
            at = turn == 0 ? weightGradient[i][j] : at + weightGradient[i][j];
          }
        }
      }
      __syncthreads();
    }
    for (int column = threadIdx.x; column < HIDDEN; column += kThreads) target[column] = total[column];
  } else {
#pragma unroll
    for (int i = 0; i < kPer; ++i) {
      if (!mine(i, lane)) continue;
#pragma unroll
      for (int j = 0; j < kSize; ++j) target[(lane + i * ROW_THREADS) * kSize + j] = weightGradient[i][j];
    }
  }
}

// Block b takes the rows b * ROWS .. of every STRIPS * ROWS and sums its part of the weight's gradient in registers. The
// number of strips does not depend on the card, so neither does the order of the sum.
extern "C" __global__ void __launch_bounds__(kThreads, kThreads <= 256 ? 2 : 1)
rms_norm_backward(const T *gradient, const T *sum, const T *weight, const float *rstd, const T *sumGradient, T *xGradient, float *partial, long long rows) {
  const int slot = threadIdx.x / ROW_THREADS, lane = threadIdx.x % ROW_THREADS;
  float weightGradient[kPer][kSize] = {};
  Vector<T> w[kPer];
#pragma unroll
  for (int i = 0; i < kPer; ++i)
    if (mine(i, lane)) w[i] = load(weight, lane + i * ROW_THREADS);

  // All slots of a block go round equally often: rowSum needs every thread.
  for (long long first = static_cast<long long>(blockIdx.x) * ROWS; first < rows; first += static_cast<long long>(STRIPS) * ROWS) {
    const long long row = first + slot;
    const bool live = row < rows;
    const long long base = row * kVectors + lane;
    Vector<T> g[kPer], s[kPer], through[kPer];
    const float scale = live ? rstd[row] : 0.f;
#pragma unroll
    for (int i = 0; i < kPer; ++i) {
      if (live && mine(i, lane)) {
        g[i] = load(gradient, base + i * ROW_THREADS);
        s[i] = load(sum, base + i * ROW_THREADS);
        if (RESIDUAL) through[i] = load(sumGradient, base + i * ROW_THREADS);
      }
    }
    float dot = 0;
#pragma unroll
    for (int i = 0; i < kPer; ++i) {
      if (!(live && mine(i, lane))) continue;
#pragma unroll
      for (int j = 0; j < kSize; ++j) {
        const float product = widen(g[i].at[j]) * widen(s[i].at[j]);
        weightGradient[i][j] += product * scale;
        dot += product * widen(w[i].at[j]);
      }
    }
    const float pull = rowSum(dot) * (1.f / HIDDEN) * scale * scale * scale;
    if (!live) continue;
#pragma unroll
    for (int i = 0; i < kPer; ++i) {
      if (!mine(i, lane)) continue;
      Vector<T> out;
#pragma unroll
      for (int j = 0; j < kSize; ++j) {
        float value = widen(g[i].at[j]) * widen(w[i].at[j]) * scale - widen(s[i].at[j]) * pull;
        if (RESIDUAL) value += widen(through[i].at[j]);
        narrow(out.at[j], value);
      }
      store(xGradient, base + i * ROW_THREADS, out);
    }
  }

  storePartial(partial, weightGradient);
}

// The same of a norm whose factor was left to those who read it (deferred-norm.cu), over a stream of float32. `gradient` is that of
// the rows before the factor, with it: it has come through products whose results were multiplied by it.
extern "C" __global__ void __launch_bounds__(kThreads, kThreads <= 256 ? 2 : 1)
deferred_norm_backward(const T *gradient, const float *sum, const T *weight, const float *rstd, const float *sumGradient, float *streamGradient, T *xGradient, float *partial, long long rows) {
  const int slot = threadIdx.x / ROW_THREADS, lane = threadIdx.x % ROW_THREADS;
  constexpr int kFours = kSize / 4;
  float weightGradient[kPer][kSize] = {};
  Vector<T> w[kPer];
#pragma unroll
  for (int i = 0; i < kPer; ++i)
    if (mine(i, lane)) w[i] = load(weight, lane + i * ROW_THREADS);

  for (long long first = static_cast<long long>(blockIdx.x) * ROWS; first < rows; first += static_cast<long long>(STRIPS) * ROWS) {
    const long long row = first + slot;
    const bool live = row < rows;
    const long long base = row * kVectors + lane;
    Vector<T> g[kPer];
    Vector<float> s[kPer][kFours];
    const float scale = live ? rstd[row] : 0.f;
#pragma unroll
    for (int i = 0; i < kPer; ++i) {
      if (live && mine(i, lane)) {
        g[i] = load(gradient, base + i * ROW_THREADS);
#pragma unroll
        for (int k = 0; k < kFours; ++k) s[i][k] = load(sum, (base + i * ROW_THREADS) * kFours + k);
      }
    }
    float dot = 0;
#pragma unroll
    for (int i = 0; i < kPer; ++i) {
      if (!(live && mine(i, lane))) continue;
#pragma unroll
      for (int j = 0; j < kSize; ++j) {
        const float product = widen(g[i].at[j]) * s[i][j / 4].at[j % 4];
        weightGradient[i][j] += product;
        dot += product * widen(w[i].at[j]);
      }
    }
    const float pull = rowSum(dot) * (1.f / HIDDEN) * scale * scale;
    if (!live) continue;
#pragma unroll
    for (int i = 0; i < kPer; ++i) {
      if (!mine(i, lane)) continue;
      Vector<T> out;
#pragma unroll
      for (int k = 0; k < kFours; ++k) {
        const long long at = (base + i * ROW_THREADS) * kFours + k;
        Vector<float> through{};
        if (RESIDUAL) through = load(sumGradient, at);
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          through.at[j] += widen(g[i].at[4 * k + j]) * widen(w[i].at[4 * k + j]) - s[i][k].at[j] * pull;
          narrow(out.at[4 * k + j], through.at[j]);
        }
        store(streamGradient, at, through);
      }
      if (RESIDUAL) store(xGradient, base + i * ROW_THREADS, out);
    }
  }
  storePartial(partial, weightGradient);
}

// The second stage: 32 columns a block, 16 threads down each.
extern "C" __global__ void __launch_bounds__(512) rms_norm_weight_gradient(const float *partial, T *weightGradient) {
  __shared__ float parts[16][32];
  const int across = threadIdx.x % 32, down = threadIdx.x / 32;
  const int column = blockIdx.x * 32 + across;
  float total = 0;
  if (column < HIDDEN) {
#pragma unroll 8
    for (int strip = down; strip < STRIPS; strip += 16) total += partial[static_cast<long long>(strip) * HIDDEN + column];
  }
  parts[down][across] = total;
  __syncthreads();
  if (down != 0 || column >= HIDDEN) return;
#pragma unroll
  for (int i = 1; i < 16; ++i) total += parts[i][across];
  narrow(weightGradient[column], total);
}
