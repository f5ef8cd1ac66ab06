// Random words by counters, eight counters at a time. Included inside a namespace, once per instruction set; functions only.

constexpr int kLanes = 8;

// Philox4x32-10 (Salmon et al., 2011) at the counters (first..first + 7, position, sequence, stream): four words each, which
// belong to four neighbouring columns.
static inline void philox8(uint32_t seed, uint32_t step, uint32_t first, uint32_t position, uint32_t sequence, uint32_t stream, uint32_t *words) {
  uint32_t a[kLanes], b[kLanes], c[kLanes], d[kLanes];
  for (int i = 0; i < kLanes; ++i) {
    a[i] = first + static_cast<uint32_t>(i);
    b[i] = position;
    c[i] = sequence;
    d[i] = stream;
  }
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < kLanes; ++i) {
      const uint64_t low = static_cast<uint64_t>(a[i]) * 0xD2511F53u, high = static_cast<uint64_t>(c[i]) * 0xCD9E8D57u;
      a[i] = static_cast<uint32_t>(high >> 32) ^ b[i] ^ seed;
      b[i] = static_cast<uint32_t>(high);
      c[i] = static_cast<uint32_t>(low >> 32) ^ d[i] ^ step;
      d[i] = static_cast<uint32_t>(low);
    }
    seed += 0x9E3779B9u;
    step += 0xBB67AE85u;
  }
  for (int i = 0; i < kLanes; ++i) {
    words[4 * i] = a[i];
    words[4 * i + 1] = b[i];
    words[4 * i + 2] = c[i];
    words[4 * i + 3] = d[i];
  }
}

// A word for every column; `words` has room for a multiple of 32.
static void rowWords(const int32_t *key, uint32_t stream, int64_t columns, uint32_t *words) {
  const auto part = [&](int i) { return static_cast<uint32_t>(key[i]); };
  for (int64_t column = 0; column < columns; column += 4 * kLanes)
    philox8(part(0), part(1), static_cast<uint32_t>(column / 4), part(3), part(2), stream, words + column);
}
