// Log-probability, entropy and their gradient over a chunk of logits: one block per row, one pass over memory each. The
// gradient overwrites the logits, which are no longer needed.
//
// Defined by the caller: T (element type), THREADS (of a block), VOCABULARY.
#include "prelude.cuh"

constexpr int kSize = Vector<T>::size;
constexpr int kVectors = VOCABULARY / kSize;
constexpr bool kWhole = VOCABULARY % kSize == 0;  // rows start on a 16-byte boundary

// The running maximum m, sum of e^(x - m), and sum of x e^(x - m).
struct Sums {
  float maximum, sum, weighted;

  __device__ __forceinline__ void take(float x) {
    if (x > maximum) {
      const float scale = __expf(maximum - x);
      sum = sum * scale + 1.f;
      weighted = weighted * scale + x;
      maximum = x;
    } else {
      const float e = __expf(x - maximum);
      sum += e;
      weighted += x * e;
    }
  }
  __device__ __forceinline__ void join(float otherMaximum, float otherSum, float otherWeighted) {
    const float top = fmaxf(maximum, otherMaximum);
    // Two empty halves, or a row of -inf: nothing to rescale.
    const float mine = maximum == top ? 1.f : __expf(maximum - top), theirs = otherMaximum == top ? 1.f : __expf(otherMaximum - top);
    sum = sum * mine + otherSum * theirs;
    weighted = weighted * mine + otherWeighted * theirs;
    maximum = top;
  }
};

__device__ Sums reduce(Sums sums) {
  __shared__ Sums warps[32];
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2)
    sums.join(__shfl_xor_sync(~0u, sums.maximum, offset), __shfl_xor_sync(~0u, sums.sum, offset), __shfl_xor_sync(~0u, sums.weighted, offset));
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sums;
  __syncthreads();
  Sums all = warps[0];
  for (int i = 1; i < THREADS / 32; ++i) all.join(warps[i].maximum, warps[i].sum, warps[i].weighted);
  return all;
}

extern "C" __global__ void __launch_bounds__(THREADS)
logprob_forward(const T *logits, const long long *targets, float inverseTemperature, float *logprobs, float *entropies, float *normalizers) {
  const long long row = blockIdx.x;
  const T *x = logits + row * VOCABULARY;
  Sums sums{-1e30f, 0.f, 0.f};
  if constexpr (kWhole) {
    for (int i = threadIdx.x; i < kVectors; i += THREADS) {
      const Vector<T> v = load(x, i);
#pragma unroll
      for (int j = 0; j < kSize; ++j) sums.take(widen(v.at[j]) * inverseTemperature);
    }
  } else {
    for (int i = threadIdx.x; i < VOCABULARY; i += THREADS) sums.take(widen(x[i]) * inverseTemperature);
  }
  sums = reduce(sums);
  if (threadIdx.x == 0) {
    const float normalizer = sums.maximum + logf(sums.sum);
    logprobs[row] = widen(x[targets[row]]) * inverseTemperature - normalizer;
    entropies[row] = normalizer - sums.weighted / sums.sum;
    normalizers[row] = normalizer;
  }
}

// d logprob = onehot - p; d entropy = -p (log p + entropy)
extern "C" __global__ void __launch_bounds__(THREADS)
logprob_backward(T *logits, const long long *targets, float inverseTemperature, const float *entropies, const float *normalizers, const float *logprobGradients, const float *entropyGradients) {
  const long long row = blockIdx.x;
  T *x = logits + row * VOCABULARY;
  const int target = static_cast<int>(targets[row]);
  const float normalizer = normalizers[row], entropy = entropies[row], dl = logprobGradients[row];
  const float de = entropyGradients ? entropyGradients[row] : 0.f;
  const auto gradient = [&](float logit, int column) {
    const float logp = logit * inverseTemperature - normalizer;
    const float d = -__expf(logp) * (dl + de * (logp + entropy)) + (column == target ? dl : 0.f);
    return d * inverseTemperature;
  };
  if constexpr (kWhole) {
    for (int i = threadIdx.x; i < kVectors; i += THREADS) {
      Vector<T> v = load(x, i);
#pragma unroll
      for (int j = 0; j < kSize; ++j) narrow(v.at[j], gradient(widen(v.at[j]), i * kSize + j));
      store(x, i, v);
    }
  } else {
    for (int i = threadIdx.x; i < VOCABULARY; i += THREADS) narrow(x[i], gradient(widen(x[i]), i));
  }
}
