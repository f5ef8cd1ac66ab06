// ForwardPrograms over one row of logits. Included inside a namespace, once per instruction set.

static float largest(const float *x, int64_t count) {
  const int64_t whole = count & ~7;
  v8 most = all8(-__builtin_inff());
  for (int64_t i = 0; i < whole; i += 8) most = max8(most, load8(x + i));
  float result = maxOf(most);
  for (int64_t i = whole; i < count; ++i) result = x[i] > result ? x[i] : result;
  return result;
}

// e[i] = exp(scale * (x[i] - most)), or 0 where x[i] is below `least`, and their sum. `e` may be null.
static double exponentials(const float *x, float *e, int64_t count, float scale, float most, float least) {
  const int64_t whole = count & ~7;
  const v8 scales = all8(scale), mosts = all8(most), leasts = all8(least), zero = all8(0);
  double sum = 0;
  // Few enough in a float, the rest in a double: the error does not grow with the vocabulary.
  for (int64_t begin = 0; begin < whole; begin += kChunk) {
    const int64_t end = begin + kChunk < whole ? begin + kChunk : whole;
    v8 part = zero;
    for (int64_t i = begin; i < end; i += 8) {
      const v8 value = load8(x + i);
      // This way round a NaN gets into the sum.
      const v8 power = value < leasts ? zero : exp8((value - mosts) * scales);
      if (e) store8(e + i, power);
      part += power;
    }
    sum += sumOf(part);
  }
  for (int64_t i = whole; i < count; ++i) {
    const float power = x[i] < least ? 0.0f : exp1((x[i] - most) * scale);
    if (e) e[i] = power;
    sum += power;
  }
  return sum;
}

// The first i at which the running sum passes `target`; chunks are summed as in `exponentials`, so both agree.
static int64_t pick(const float *e, int64_t count, double target) {
  const int64_t whole = count & ~7;
  double sum = 0;
  int64_t last = -1;
  for (int64_t begin = 0; begin < whole; begin += kChunk) {
    const int64_t end = begin + kChunk < whole ? begin + kChunk : whole;
    v8 part = all8(0);
    for (int64_t i = begin; i < end; i += 8) part += load8(e + i);
    const double next = sum + sumOf(part);
    if (next > target) {
      double within = sum;
      for (int64_t i = begin; i < end; ++i) {
        if (e[i] > 0) last = i;
        within += e[i];
        if (within > target && e[i] > 0) return i;
      }
      return last;  // the chunk's own rounding
    }
    sum = next;
  }
  for (int64_t i = whole; i < count; ++i) {
    sum += e[i];
    if (sum > target && e[i] > 0) return i;
  }
  for (int64_t i = count - 1; i >= 0; --i)
    if (e[i] > 0) return i;
  return -1;
}
