// What is known of a row's logits without the logits: of every kChunk of them the maximum and the sum of powers. These are summed
// in a fixed order, so that a row's token depends on its logits alone.
//
// Defined by the caller: T (bfloat16 or float16), VOCABULARY.

constexpr int kSize = Vector<T>::size;
constexpr int kChunk = 32 * kSize;  // a vector for each thread of a warp
constexpr int kChunks = (VOCABULARY + kChunk - 1) / kChunk;
constexpr float kNothing = -1e30f;
constexpr float kLog2 = 1.4426950408889634f;

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

// Tokens of a row that cannot be drawn, ascending.
struct Forbidden {
  const int *ids;
  int from, to;
  __device__ __forceinline__ Forbidden(const int *ids, const int *offsets, long long row) : ids(ids), from(offsets[row]), to(offsets[row + 1]) {}
  // Whether some may be in the chunk.
  __device__ __forceinline__ bool touch(int chunk) const { return from < to && ids[from] / kChunk <= chunk && ids[to - 1] / kChunk >= chunk; }
};
