// What is known of a row's logits without the logits: of every kChunk of them the maximum and the sum of powers. A warp has a
// chunk. Sums are made in a fixed order, so that a row's token depends on its logits alone.
//
// Defined by the caller: T (bfloat16 or float16), VOCABULARY, LANE (logits of a thread, a multiple of a vector).

constexpr int kSize = Vector<T>::size;
constexpr int kLane = LANE;         // logits of a thread
constexpr int kChunk = 32 * kLane;  // and of a warp
constexpr int kChunks = (VOCABULARY + kChunk - 1) / kChunk;
constexpr float kNothing = -1e30f;
constexpr float kLog2 = 1.4426950408889634f;

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

struct Settings {
  float temperature, topK, topP, minP;
  __device__ __forceinline__ bool greedy() const { return temperature == 0; }
  __device__ __forceinline__ float scale() const { return greedy() ? 1.f : 1.f / temperature; }
  __device__ __forceinline__ bool filters() const { return !greedy() && ((topK > 0 && topK < VOCABULARY) || topP < 1 || minP > 0); }
};

// What is known of a chunk: of the logits as they are, and of those that may be drawn. Sums are relative to their maximum.
struct alignas(16) Sums {
  float most, total, best, kept;
};

// Of a chunk's logits, which are -infinity behind the last.
__device__ __forceinline__ Sums sumsOf(const float (&held)[kLane]) {
  const float most = warpMax(largest(held));
  float part = 0;
#pragma unroll
  for (int i = 0; i < kLane; ++i) part += power2((held[i] - most) * kLog2);
  const float total = warpSum(part);
  return {most, total, most, total};
}

// Of those that may be drawn, and by another temperature. `least`: of these; -infinity where any may.
__device__ __forceinline__ void sumDrawn(Sums &sums, float (&held)[kLane], int chunk, int lane, const Settings &want, float least, const int *banned, int from, int to) {
  const float scale = want.scale();
  if (scale == 1.f && from >= to && !(least > minusInfinity())) return;
  ban(held, chunk, lane, banned, from, to);
  sums.best = warpMax(largest(held));
  float part = 0;
#pragma unroll
  for (int i = 0; i < kLane; ++i) part += held[i] < least ? 0.f : power2((held[i] - sums.best) * scale * kLog2);
  sums.kept = warpSum(part);
}
