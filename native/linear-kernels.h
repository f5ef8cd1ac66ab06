// Products of rows with rows. Included inside a namespace, once per instruction set.
//
// Both factors lie along the summed dimension, so nothing is packed: weights may change between two steps at no cost. Every
// element is one chain of fused multiply-adds over eight lanes, whatever tile it is computed in: a row's result does not
// depend on how many rows there are.

static inline float laneSum(v8 v) {
  typedef float v4 __attribute__((vector_size(16)));
  v4 low, high;
  __builtin_memcpy(&low, &v, 16);
  __builtin_memcpy(&high, (const char *)&v + 16, 16);
  low += high;
  return (low[0] + low[2]) + (low[1] + low[3]);
}

static inline void finish1(v8 sum, const Element *x, const Element *w, int64_t from, int64_t depth, float bias, Element *out) {
  float total = laneSum(sum);
  for (int64_t k = from; k < depth; ++k) total += get(x + k) * get(w + k);
  put(out, total + bias);
}

// Rows i..i+4 of x with rows j..j+3 of w.
static inline void tile43(const Product &a, const Element *x, const Element *w, const float *bias, Element *out) {
  const int64_t depth = a.depth, whole = depth & ~7;
  const Element *x0 = x, *x1 = x0 + depth, *x2 = x1 + depth, *x3 = x2 + depth;
  const Element *w0 = w, *w1 = w0 + depth, *w2 = w1 + depth;
  v8 s00 = all8(0), s01 = s00, s02 = s00, s10 = s00, s11 = s00, s12 = s00, s20 = s00, s21 = s00, s22 = s00, s30 = s00, s31 = s00, s32 = s00;
  for (int64_t k = 0; k < whole; k += 8) {
    const v8 b0 = load8(w0 + k), b1 = load8(w1 + k), b2 = load8(w2 + k);
    v8 c = load8(x0 + k);
    s00 = c * b0 + s00;
    s01 = c * b1 + s01;
    s02 = c * b2 + s02;
    c = load8(x1 + k);
    s10 = c * b0 + s10;
    s11 = c * b1 + s11;
    s12 = c * b2 + s12;
    c = load8(x2 + k);
    s20 = c * b0 + s20;
    s21 = c * b1 + s21;
    s22 = c * b2 + s22;
    c = load8(x3 + k);
    s30 = c * b0 + s30;
    s31 = c * b1 + s31;
    s32 = c * b2 + s32;
  }
  Element *o0 = out, *o1 = o0 + a.width, *o2 = o1 + a.width, *o3 = o2 + a.width;
  finish1(s00, x0, w0, whole, depth, bias[0], o0);
  finish1(s01, x0, w1, whole, depth, bias[1], o0 + 1);
  finish1(s02, x0, w2, whole, depth, bias[2], o0 + 2);
  finish1(s10, x1, w0, whole, depth, bias[0], o1);
  finish1(s11, x1, w1, whole, depth, bias[1], o1 + 1);
  finish1(s12, x1, w2, whole, depth, bias[2], o1 + 2);
  finish1(s20, x2, w0, whole, depth, bias[0], o2);
  finish1(s21, x2, w1, whole, depth, bias[1], o2 + 1);
  finish1(s22, x2, w2, whole, depth, bias[2], o2 + 2);
  finish1(s30, x3, w0, whole, depth, bias[0], o3);
  finish1(s31, x3, w1, whole, depth, bias[1], o3 + 1);
  finish1(s32, x3, w2, whole, depth, bias[2], o3 + 2);
}

static inline void tile11(const Product &a, const Element *x, const Element *w, float bias, Element *out) {
  const int64_t whole = a.depth & ~7;
  v8 sum = all8(0);
  for (int64_t k = 0; k < whole; k += 8) sum = load8(x + k) * load8(w + k) + sum;
  finish1(sum, x, w, whole, a.depth, bias, out);
}

// The columns from..to of every row.
static void productColumns(const Product &a, int64_t from, int64_t to) {
  const Element *x = (const Element *)a.x, *w = (const Element *)a.w;
  Element *out = (Element *)a.out;
  float bias[kColumns];
  for (int64_t j = from; j < to; ++j) bias[j - from] = a.bias ? get((const Element *)a.bias + j) : 0.0f;
  int64_t i = 0;
  for (; i + 4 <= a.rows; i += 4) {
    int64_t j = from;
    for (; j + 3 <= to; j += 3) tile43(a, x + i * a.depth, w + j * a.depth, bias + (j - from), out + i * a.width + j);
    for (; j < to; ++j)
      for (int64_t r = i; r < i + 4; ++r) tile11(a, x + r * a.depth, w + j * a.depth, bias[j - from], out + r * a.width + j);
  }
  for (; i < a.rows; ++i)
    for (int64_t j = from; j < to; ++j) tile11(a, x + i * a.depth, w + j * a.depth, bias[j - from], out + i * a.width + j);
}
