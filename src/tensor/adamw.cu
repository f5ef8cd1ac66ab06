// AdamW for a 16-bit parameter with float32 copy and moments: one pass that reads the gradient as it is and writes copy,
// moments and parameter. Everything element by element, but for the count of parameters that change. What a parameter was before
// is its copy rounded, so that counting reads nothing more.
//
// Defined by the caller: T (the parameter's element type), THREADS (of a block), COUNTERS (of changes; their sum is the count).
#include "prelude.cuh"

constexpr int kSize = Vector<T>::size;
constexpr int kWide = kSize / Vector<float>::size;  // float32 vectors beside one of the parameter's

struct Rates {
  float scale, lr, beta1, beta2, eps, decay, correction1, correction2;

  __device__ __forceinline__ void apply(float gradient, float &weight, float &first, float &second) const {
    const float g = gradient * scale;
    weight -= lr * decay * weight;
    first = beta1 * first + (1.f - beta1) * g;
    second = beta2 * second + (1.f - beta2) * g * g;
    weight -= lr * (first / correction1) / (sqrtf(second) / correction2 + eps);
  }
};

// logBeta: 1 - beta^t is computed as -expm1(t log beta), which keeps its digits when beta^t is near 1.
extern "C" __global__ void __launch_bounds__(THREADS)
adamw_step(T *parameter, float *copy, float *first, float *second, const T *gradient, const float *step, unsigned long long *changed, long long count, float scale, float lr,
           float beta1, float beta2, float logBeta1, float logBeta2, float eps, float decay) {
  const float t = *step;
  const Rates rates{scale, lr, beta1, beta2, eps, decay, -expm1f(t * logBeta1), sqrtf(-expm1f(t * logBeta2))};
  const long long at = static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x;
  const long long whole = count / kSize;
  int different = 0;
  if (at < whole) {
    const Vector<T> g = load(gradient, at);
    Vector<T> p;
#pragma unroll
    for (int k = 0; k < kWide; ++k) {
      Vector<float> w = load(copy, at * kWide + k), m = load(first, at * kWide + k), v = load(second, at * kWide + k);
#pragma unroll
      for (int i = 0; i < Vector<float>::size; ++i) {
        const int j = k * Vector<float>::size + i;
        T before;
        narrow(before, w.at[i]);
        rates.apply(widen(g.at[j]), w.at[i], m.at[i], v.at[i]);
        narrow(p.at[j], w.at[i]);
        different += widen(before) != widen(p.at[j]);
      }
      store(copy, at * kWide + k, w);
      store(first, at * kWide + k, m);
      store(second, at * kWide + k, v);
    }
    store(parameter, at, p);
  } else if (at - whole < count - whole * kSize) {
    // What does not fill a vector: one element for each of the first threads after the last vector's.
    const long long i = whole * kSize + (at - whole);
    T before;
    narrow(before, copy[i]);
    rates.apply(widen(gradient[i]), copy[i], first[i], second[i]);
    narrow(parameter[i], copy[i]);
    different = widen(before) != widen(parameter[i]);
  }
  // One addition to memory for each warp in which something changed, to one of many counters: additions to the same one queue up.
#pragma unroll
  for (int other = 16; other > 0; other /= 2) different += __shfl_xor_sync(0xffffffffu, different, other);
  const unsigned warp = blockIdx.x * (THREADS / 32) + threadIdx.x / 32;
  if (threadIdx.x % 32 == 0 && different > 0) atomicAdd(changed + warp % COUNTERS, static_cast<unsigned long long>(different));
}
