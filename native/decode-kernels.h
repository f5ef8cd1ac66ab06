// The kernels of one row of a generation step. `Element` is what the tensors hold; sums are made in float. Every row is
// computed by itself, in an order that depends on nothing but its own sequence: a sample is the same in any batch.

static void addNormRow(const void *xs, const void *residuals, const void *weights, void *normeds, void *sums, int64_t row, int64_t width, float eps) {
  const Element *x = (const Element *)xs + row * width, *weight = (const Element *)weights;
  const Element *residual = residuals ? (const Element *)residuals + row * width : nullptr;
  Element *normed = (Element *)normeds + row * width, *sum = sums ? (Element *)sums + row * width : nullptr;
  const int64_t whole = width & ~7;
  v8 squares = all8(0);
  float rest = 0;
  if (residual) {
    for (int64_t i = 0; i < whole; i += 8) {
      store8(sum + i, load8(x + i) + load8(residual + i));
      const v8 value = load8(sum + i);
      squares = value * value + squares;
    }
    for (int64_t i = whole; i < width; ++i) {
      put(sum + i, get(x + i) + get(residual + i));
      rest += get(sum + i) * get(sum + i);
    }
    x = sum;
  } else {
    for (int64_t i = 0; i < whole; i += 8) {
      const v8 value = load8(x + i);
      squares = value * value + squares;
    }
    for (int64_t i = whole; i < width; ++i) rest += get(x + i) * get(x + i);
  }
  const float scale = 1.0f / __builtin_sqrtf((sumOf(squares) + rest) / (float)width + eps);
  const v8 scales = all8(scale);
  for (int64_t i = 0; i < whole; i += 8) store8(normed + i, load8(x + i) * scales * load8(weight + i));
  for (int64_t i = whole; i < width; ++i) put(normed + i, get(x + i) * scale * get(weight + i));
}

static void swigluRow(const void *gateUps, void *outs, int64_t row, int64_t width) {
  const Element *gate = (const Element *)gateUps + row * 2 * width, *up = gate + width;
  Element *out = (Element *)outs + row * width;
  const int64_t whole = width & ~7;
  const v8 one = all8(1), most = all8(87);
  for (int64_t i = 0; i < whole; i += 8) {
    const v8 g = load8(gate + i);
    const v8 minus = -g > most ? most : -g;
    store8(out + i, g / (one + exp8(minus)) * load8(up + i));
  }
  for (int64_t i = whole; i < width; ++i) {
    const float g = get(gate + i);
    put(out + i, g / (1.0f + exp1(-g > 87.0f ? 87.0f : -g)) * get(up + i));
  }
}

// Turns queries and keys by their position; the key and the value go into the row's slot of the cache, a key with its
// dimensions apart, so that one load takes the same dimension of eight keys.
static void rotateStoreRow(const Rotate &a, int64_t row) {
  const int64_t half = a.headDim / 2;
  const int64_t position = a.positions[row], slot = a.slotMapping[row];
  const float *cos = a.cos + position * half, *sin = a.sin + position * half;
  const Element *from = (const Element *)a.qkv + row * (a.heads + 2 * a.kvHeads) * a.headDim;
  Element *query = (Element *)a.queries + row * a.heads * a.headDim;
  for (int64_t h = 0; h < a.heads; ++h, from += a.headDim, query += a.headDim)
    for (int64_t i = 0; i < half; ++i) {
      const float x = get(from + i), y = get(from + half + i);
      put(query + i, x * cos[i] - y * sin[i]);
      put(query + half + i, y * cos[i] + x * sin[i]);
    }
  if (slot < 0) return;
  const int64_t block = slot / kBlock, at = slot % kBlock, perHead = a.headDim * kBlock;
  Element *keys = (Element *)a.keys + block * a.kvHeads * perHead + at;
  Element *values = (Element *)a.values + block * a.kvHeads * perHead + at * a.headDim;
  for (int64_t h = 0; h < a.kvHeads; ++h, from += a.headDim, keys += perHead)
    for (int64_t i = 0; i < half; ++i) {
      const float x = get(from + i), y = get(from + half + i);
      put(keys + i * kBlock, x * cos[i] - y * sin[i]);
      put(keys + (half + i) * kBlock, y * cos[i] + x * sin[i]);
    }
  for (int64_t h = 0; h < a.kvHeads; ++h, from += a.headDim, values += perHead)
    for (int64_t i = 0; i < a.headDim; ++i) values[i] = from[i];
}

// One row's query heads of one KV head over the keys up to its position, a block of 16 at a time, softmax as it goes.
static void attendRow(const Attend &a, int64_t row, int64_t kvHead, float *scratch) {
  const int64_t group = a.heads / a.kvHeads, dim = a.headDim, perHead = dim * kBlock, whole = dim & ~7;
  const int32_t *blockTable = a.blockTable + (int64_t)a.sequences[row] * a.tableWidth;
  const int64_t length = (int64_t)a.positions[row] + 1, blocks = (length + kBlock - 1) / kBlock;
  const Element *query = (const Element *)a.queries + (row * a.heads + kvHead * group) * dim;
  float *scaled = scratch, *sums = scratch + group * dim, *most = sums + group * dim, *total = most + group;
  for (int64_t i = 0; i < group * dim; ++i) {
    scaled[i] = get(query + i) * a.scale;
    sums[i] = 0;
  }
  for (int64_t g = 0; g < group; ++g) {
    most[g] = -3.0e38f;
    total[g] = 0;
  }
  for (int64_t b = 0; b < blocks; ++b) {
    const int64_t base = ((int64_t)blockTable[b] * a.kvHeads + kvHead) * perHead;
    const Element *keys = (const Element *)a.keys + base, *values = (const Element *)a.values + base;
    const int64_t count = length - b * kBlock < kBlock ? length - b * kBlock : kBlock;
    for (int64_t g = 0; g < group; ++g) {
      const float *q = scaled + g * dim;
      v8 s0 = all8(0), s1 = all8(0), t0 = all8(0), t1 = all8(0);
      for (int64_t d = 0; d < dim; d += 2) {
        const v8 q0 = all8(q[d]), q1 = all8(q[d + 1]);
        s0 = load8(keys + d * kBlock) * q0 + s0;
        s1 = load8(keys + d * kBlock + 8) * q0 + s1;
        t0 = load8(keys + (d + 1) * kBlock) * q1 + t0;
        t1 = load8(keys + (d + 1) * kBlock + 8) * q1 + t1;
      }
      s0 += t0;
      s1 += t1;
      if (count < kBlock) {  // what lies past the sequence's end was never written
        const i8 index = {0, 1, 2, 3, 4, 5, 6, 7};
        const v8 never = all8(-3.0e38f);
        s0 = index < (int32_t)count ? s0 : never;
        s1 = index + 8 < (int32_t)count ? s1 : never;
      }
      const float here = maxOf(max8(s0, s1));
      const float now = here > most[g] ? here : most[g];
      const v8 p0 = exp8(s0 - all8(now)), p1 = exp8(s1 - all8(now));
      const float before = exp1(most[g] - now);
      most[g] = now;
      total[g] = total[g] * before + sumOf(p0 + p1);
      float p[kBlock];
      store8(p, p0);
      store8(p + 8, p1);
      float *sum = sums + g * dim;
      for (int64_t d = 0; d < whole; d += 8) {
        v8 even = load8(sum + d) * all8(before), odd = all8(0);
        int64_t j = 0;
        for (; j + 1 < count; j += 2) {
          even = load8(values + j * dim + d) * all8(p[j]) + even;
          odd = load8(values + (j + 1) * dim + d) * all8(p[j + 1]) + odd;
        }
        if (j < count) even = load8(values + j * dim + d) * all8(p[j]) + even;
        store8(sum + d, even + odd);
      }
      for (int64_t d = whole; d < dim; ++d) {
        float value = sum[d] * before;
        for (int64_t j = 0; j < count; ++j) value += get(values + j * dim + d) * p[j];
        sum[d] = value;
      }
    }
  }
  Element *out = (Element *)a.out + (row * a.heads + kvHead * group) * dim;
  for (int64_t g = 0; g < group; ++g)
    for (int64_t d = 0; d < dim; ++d) put(out + g * dim + d, sums[g * dim + d] / total[g]);
}
