// What every kernel starts from: element types and 16-byte accesses. NVRTC has no headers, so nothing is included.
//
// Arithmetic is in float32 whatever the element type; a value is rounded once, when it is stored.

typedef float float32;
struct float16 {
  unsigned short bits;
};
struct bfloat16 {
  unsigned short bits;
};

__device__ __forceinline__ float widen(float32 value) { return value; }
__device__ __forceinline__ float widen(float16 value) {
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(value.bits));
  return wide;
}
__device__ __forceinline__ float widen(bfloat16 value) { return __uint_as_float(static_cast<unsigned>(value.bits) << 16); }

__device__ __forceinline__ void narrow(float32 &to, float value) { to = value; }
__device__ __forceinline__ void narrow(float16 &to, float value) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(to.bits) : "f"(value)); }
__device__ __forceinline__ void narrow(bfloat16 &to, float value) {
#if __CUDA_ARCH__ >= 800
  unsigned pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(0.f), "f"(value));
  to.bits = static_cast<unsigned short>(pair);
#else
  const unsigned bits = __float_as_uint(value);
  const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
  to.bits = static_cast<unsigned short>(nan ? 0x7fc0u : (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);  // to nearest even
#endif
}

// 2 to the power of `value`, to about the last bit.
__device__ __forceinline__ float power2(float value) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(value));
  return result;
}

// A pair of numbers turned by an angle, told what is fused: the same bits wherever it is done.
__device__ __forceinline__ float turnLow(float low, float high, float cosine, float sine) { return __fmaf_rn(low, cosine, -__fmul_rn(high, sine)); }
__device__ __forceinline__ float turnHigh(float low, float high, float cosine, float sine) { return __fmaf_rn(high, cosine, __fmul_rn(low, sine)); }

// One access of 16 bytes, the widest there is: as many elements as fit.
template <class T> struct alignas(16) Vector {
  static constexpr int size = 16 / sizeof(T);
  T at[size];
};

template <class T> __device__ __forceinline__ Vector<T> load(const T *from, long long vector) {
  const uint4 raw = reinterpret_cast<const uint4 *>(from)[vector];
  return *reinterpret_cast<const Vector<T> *>(&raw);
}

template <class T> __device__ __forceinline__ void store(T *to, long long vector, const Vector<T> &value) {
  reinterpret_cast<uint4 *>(to)[vector] = *reinterpret_cast<const uint4 *>(&value);
}

// A kernel that is launched to overlap starts before the one in front of it has finished: it may read what no kernel of its
// program writes, and then waits. Every kernel lets the next one start as soon as it has itself. Older chips run one after
// another.
__device__ __forceinline__ void allowNext() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
__device__ __forceinline__ void waitForPrevious() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
