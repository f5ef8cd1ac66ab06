// SwiGLU over a fused projection: each row is `inner` gates, then `inner` values. Element by element, nothing is shared.
//
// Defined by the caller: T (element type), THREADS (of a block), PER_THREAD (vectors of a thread).
#include "prelude.cuh"

constexpr int kSize = Vector<T>::size;

// The fast exponential and division are exact to more bits than 16-bit elements keep.
__device__ __forceinline__ float sigmoid(float value) {
  if constexpr (sizeof(T) == 4) return 1.f / (1.f + expf(-value));
  else return __fdividef(1.f, 1.f + __expf(-value));
}

struct Forward {
  const T *gateUp;
  T *out;

  static __device__ __forceinline__ void one(T gate, T up, T &out) {
    const float g = widen(gate);
    narrow(out, g * sigmoid(g) * widen(up));
  }
  // `at` counts output vectors, `gate` and `up` those of the projection; `row` is where they are.
  __device__ __forceinline__ void vectors(const long long *at, const long long *row, const long long *gate, const long long *up, const bool *live) const {
    Vector<T> g[PER_THREAD], u[PER_THREAD];
#pragma unroll
    for (int i = 0; i < PER_THREAD; ++i) {
      if (live[i]) {
        g[i] = load(gateUp, gate[i]);
        u[i] = load(gateUp, up[i]);
      }
    }
#pragma unroll
    for (int i = 0; i < PER_THREAD; ++i) {
      if (!live[i]) continue;
#pragma unroll
      for (int j = 0; j < kSize; ++j) one(g[i].at[j], u[i].at[j], u[i].at[j]);
      store(out, at[i], u[i]);
    }
  }
  __device__ __forceinline__ void single(long long at, long long row, long long gate, long long up) const { one(gateUp[gate], gateUp[up], out[at]); }
};

struct Backward {
  const T *gradient, *gateUp;
  T *gateUpGradient;
  const float *factors;  // of rows; may be null

  __device__ __forceinline__ float factorOf(long long row) const { return factors ? factors[row] : 1.f; }
  static __device__ __forceinline__ void one(T gradient, T gate, T up, float factor, T &gateGradient, T &upGradient) {
    const float d = widen(gradient) * factor, g = widen(gate), u = widen(up), s = sigmoid(g);
    narrow(gateGradient, d * u * s * (1.f + g * (1.f - s)));
    narrow(upGradient, d * g * s);
  }
  __device__ __forceinline__ void vectors(const long long *at, const long long *row, const long long *gate, const long long *up, const bool *live) const {
    Vector<T> d[PER_THREAD], g[PER_THREAD], u[PER_THREAD];
    float factor[PER_THREAD];
#pragma unroll
    for (int i = 0; i < PER_THREAD; ++i) {
      if (live[i]) {
        factor[i] = factorOf(row[i]);
        d[i] = load(gradient, at[i]);
        g[i] = load(gateUp, gate[i]);
        u[i] = load(gateUp, up[i]);
      }
    }
#pragma unroll
    for (int i = 0; i < PER_THREAD; ++i) {
      if (!live[i]) continue;
#pragma unroll
      for (int j = 0; j < kSize; ++j) one(d[i].at[j], g[i].at[j], u[i].at[j], factor[i], g[i].at[j], u[i].at[j]);
      store(gateUpGradient, gate[i], g[i]);
      store(gateUpGradient, up[i], u[i]);
    }
  }
  __device__ __forceinline__ void single(long long at, long long row, long long gate, long long up) const {
    one(gradient[at], gateUp[gate], gateUp[up], factorOf(row), gateUpGradient[gate], gateUpGradient[up]);
  }
};

// Each thread takes PER_THREAD vectors, a block's width apart; `Index` holds their number.
template <class Index, class Work> __device__ __forceinline__ void sweep(const Work &work, Index total, unsigned perRow) {
  const Index first = static_cast<Index>(blockIdx.x) * (THREADS * PER_THREAD) + threadIdx.x;
  long long at[PER_THREAD], row[PER_THREAD], gate[PER_THREAD], up[PER_THREAD];
  bool live[PER_THREAD];
#pragma unroll
  for (int i = 0; i < PER_THREAD; ++i) {
    const Index index = first + i * THREADS;
    live[i] = index < total;
    at[i] = static_cast<long long>(index);
    row[i] = static_cast<long long>(index / perRow);
    gate[i] = at[i] + row[i] * perRow;
    up[i] = gate[i] + perRow;
  }
  work.vectors(at, row, gate, up, live);
}

template <class Work> __device__ __forceinline__ void run(const Work &work, long long rows, int inner) {
  if (inner % kSize == 0) {
    const unsigned perRow = inner / kSize;
    const long long total = rows * perRow;
    // 64-bit division is slow enough to be seen; the last block reaches beyond the total.
    if (total < 0x7fffffffLL) sweep<unsigned>(work, static_cast<unsigned>(total), perRow);
    else sweep<unsigned long long>(work, static_cast<unsigned long long>(total), perRow);
    return;
  }
  // Rows that are not made of whole vectors: right, not fast.
  const long long step = static_cast<long long>(gridDim.x) * THREADS;
  for (long long at = static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x; at < rows * inner; at += step) {
    const long long row = at / inner, gate = at + row * inner;
    work.single(at, row, gate, gate + inner);
  }
}

extern "C" __global__ void __launch_bounds__(THREADS) swiglu_forward(const T *gateUp, T *out, long long rows, int inner) {
  run(Forward{gateUp, out}, rows, inner);
}

extern "C" __global__ void __launch_bounds__(THREADS)
swiglu_backward(const T *gradient, const T *gateUp, const float *factors, T *gateUpGradient, long long rows, int inner) {
  run(Backward{gradient, gateUp, gateUpGradient, factors}, rows, inner);
}
