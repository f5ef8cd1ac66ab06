// Hopper's own instructions: bulk copies of tiles, barriers in shared memory that count bytes, products of warpgroups and
// clusters of blocks. Below compute capability 9.0 nothing here compiles.

struct alignas(64) TensorMap {
  unsigned long long opaque[16];
};

__device__ __forceinline__ unsigned sharedAddress(const void *pointer) { return static_cast<unsigned>(__cvta_generic_to_shared(pointer)); }

// ---- barriers

using Barrier = unsigned long long;

__device__ __forceinline__ void initBarrier(Barrier &barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(sharedAddress(&barrier)), "r"(arrivals) : "memory");
}
// The copy engine sees what was initialised.
__device__ __forceinline__ void fenceBarriers() {
  asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async.shared::cta;" ::: "memory");
}
__device__ __forceinline__ void arrive(Barrier &barrier) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(sharedAddress(&barrier)) : "memory"); }
__device__ __forceinline__ void expectBytes(Barrier &barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(sharedAddress(&barrier)), "r"(bytes) : "memory");
}
// Waits for the end of the barrier's round, counted from 0.
__device__ __forceinline__ void wait(Barrier &barrier, int round) {
  unsigned done;
  do {
    asm volatile("{\n.reg .pred done;\nmbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2;\nselp.u32 %0, 1, 0, done;\n}"
                 : "=r"(done)
                 : "r"(sharedAddress(&barrier)), "r"(round & 1)
                 : "memory");
  } while (!done);
}
template <int Threads> __device__ __forceinline__ void syncThreads() { asm volatile("bar.sync 1, %0;" ::"n"(Threads) : "memory"); }

// ---- tiles: copies of 64 elements (128 bytes) by some rows, swizzled as the tensor cores want them

__device__ __forceinline__ void copyTile(void *to, const TensorMap &map, Barrier &barrier, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(sharedAddress(to)),
               "l"(&map), "r"(sharedAddress(&barrier)), "r"(x), "r"(y)
               : "memory");
}
__device__ __forceinline__ void copyTile(void *to, const TensorMap &map, Barrier &barrier, int x, int y, int z, int w) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(sharedAddress(to)),
               "l"(&map), "r"(sharedAddress(&barrier)), "r"(x), "r"(y), "r"(z), "r"(w)
               : "memory");
}
// What a product is told of a tile: its address, 1,024 bytes from eight rows to the next, swizzled by 128 bytes.
__device__ __forceinline__ unsigned long long describeTile(const void *tile) {
  return (sharedAddress(tile) & 0x3ffff) >> 4 | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

// ---- products of a warpgroup, which go on while the threads do

__device__ __forceinline__ void startProducts() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void commitProducts() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int Left> __device__ __forceinline__ void waitProducts() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Left) : "memory"); }

// ---- clusters

__device__ __forceinline__ int rankInCluster() {
  int rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
// A barrier of all threads of a cluster that orders no memory: what is sent to a block is counted by a barrier of its own.
__device__ __forceinline__ void arriveCluster() { asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"); }
__device__ __forceinline__ void waitCluster() { asm volatile("barrier.cluster.wait.aligned;" ::: "memory"); }
// Before copies read what threads have written to shared memory.
__device__ __forceinline__ void fenceCopies() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
// From this block's shared memory to the same address as `to` in a peer's, counted by the peer's `barrier`.
__device__ __forceinline__ void copyToPeer(const void *to, const void *from, int bytes, Barrier &barrier, int peer) {
  asm volatile("{\n.reg .b32 there, counts;\nmapa.shared::cluster.u32 there, %0, %4;\nmapa.shared::cluster.u32 counts, %3, %4;\n"
               "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [there], [%1], %2, [counts];\n}" ::"r"(sharedAddress(to)),
               "r"(sharedAddress(from)), "r"(bytes), "r"(sharedAddress(&barrier)), "r"(peer)
               : "memory");
}
