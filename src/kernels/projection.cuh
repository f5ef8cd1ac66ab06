// What the kernels of Hopper's projections have in common: the product of a warpgroup, and SwiGLU.
//
// Defined by the caller: T (bfloat16), COLUMNS of a product, which is 64 high, and of the instruction that multiplies: SHAPE,
// REGISTERS, its last operands LEFT and RIGHT, and OUTPUTS.

constexpr int kColumns = COLUMNS;

// Adds to the sums of a thread: of every eight columns, two of one row and the same two of the row eight below.
__device__ __forceinline__ void multiply(float (&d)[kColumns / 2], unsigned long long left, unsigned long long right) {
  asm volatile("{\n.reg .pred more;\nsetp.eq.b32 more, 0, 0;\n"
               "wgmma.mma_async.sync.aligned." SHAPE ".f32.bf16.bf16 {" REGISTERS "}, " LEFT ", " RIGHT ", more, 1, 1, 0, 0;\n}"
               : OUTPUTS
               : "l"(left), "l"(right));
}

__device__ __forceinline__ float silu(float x) { return __fdividef(x, 1.f + __expf(-x)); }

__device__ __forceinline__ unsigned narrowTwo(float low, float high) {
  unsigned both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
  return both;
}
