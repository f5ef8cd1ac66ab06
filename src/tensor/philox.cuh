// Random words by counters: native/philox-kernels.h has the same.

struct Words {
  unsigned at[4];
};

// Philox4x32-10 (Salmon et al., 2011): four words for one counter (a, b, c, d) under a key of two words.
__device__ __forceinline__ Words philox(unsigned key0, unsigned key1, unsigned a, unsigned b, unsigned c, unsigned d) {
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const unsigned lowHigh = __umulhi(a, 0xD2511F53u), lowLow = a * 0xD2511F53u;
    const unsigned highHigh = __umulhi(c, 0xCD9E8D57u), highLow = c * 0xCD9E8D57u;
    a = highHigh ^ b ^ key0;
    b = highLow;
    c = lowHigh ^ d ^ key1;
    d = lowLow;
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return Words{{a, b, c, d}};
}
