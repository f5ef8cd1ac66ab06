// Eight floats at a time. Included inside a namespace, once per instruction set; functions only, no includes and no
// templates, whose instantiations the linker would merge across sets.
typedef float v8 __attribute__((vector_size(32)));
typedef int32_t i8 __attribute__((vector_size(32)));
typedef uint32_t u8 __attribute__((vector_size(32)));
typedef uint16_t h8 __attribute__((vector_size(16)));

static inline v8 load8(const float *from) {
  v8 value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}
static inline void store8(float *to, v8 value) { __builtin_memcpy(to, &value, sizeof value); }
static inline v8 all8(float value) { return v8{value, value, value, value, value, value, value, value}; }

static inline v8 load8(const uint16_t *from) {
  h8 bits;
  __builtin_memcpy(&bits, from, sizeof bits);
  const u8 wide = __builtin_convertvector(bits, u8) << 16;
  return (v8)wide;
}
// Rounded to nearest, ties to even; a NaN stays one.
static inline uint16_t toBfloat(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, 4);
  if (value != value) return 0x7fc0;
  return (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
static inline void store8(uint16_t *to, v8 value) {
  const u8 bits = (u8)value;
  const u8 rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const i8 nan = value != value;
  const u8 chosen = (rounded & ~(u8)nan) | ((u8)nan & 0x7fc0);
  const h8 narrow = __builtin_convertvector(chosen, h8);
  __builtin_memcpy(to, &narrow, sizeof narrow);
}
static inline float get(const float *from) { return *from; }
static inline float get(const uint16_t *from) {
  const uint32_t bits = (uint32_t)*from << 16;
  float value;
  __builtin_memcpy(&value, &bits, 4);
  return value;
}
static inline void put(float *to, float value) { *to = value; }
static inline void put(uint16_t *to, float value) { *to = toBfloat(value); }

static inline v8 max8(v8 a, v8 b) { return a > b ? a : b; }
static inline float sumOf(v8 v) { return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7])); }
static inline float maxOf(v8 v) {
  float most = v[0];
  for (int i = 1; i < 8; ++i) most = v[i] > most ? v[i] : most;
  return most;
}

// e^x within 2 units in the last place; 0 below -87, so that -inf gives 0. For x above 88 it is not meant.
static inline v8 exp8(v8 x) {
  const v8 low = all8(-87.0f);
  const i8 tiny = x < low;
  const v8 bounded = tiny ? low : x;
  const v8 shift = all8(12582912.0f);  // adding and taking away 1.5 * 2^23 rounds to an integer
  const v8 n = (bounded * all8(1.44269504088896341f) + shift) - shift;
  const v8 r = (bounded - n * all8(0.693145751953125f)) - n * all8(1.42860677e-6f);
  v8 p = all8(1.9875691500e-4f);
  p = p * r + all8(1.3981999507e-3f);
  p = p * r + all8(8.3334519073e-3f);
  p = p * r + all8(4.1665795894e-2f);
  p = p * r + all8(1.6666665459e-1f);
  p = p * r + all8(5.0000001201e-1f);
  p = p * r * r + r + all8(1.0f);
  const i8 power = (__builtin_convertvector(n, i8) + 127) << 23;
  const v8 value = p * (v8)power;
  return tiny ? all8(0.0f) : value;
}
static inline float exp1(float x) { return exp8(all8(x))[0]; }
