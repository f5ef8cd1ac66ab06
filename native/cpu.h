// What the CPU kernels of generation share: a loop over libtorch's own threads, and the choice between instruction sets.
#pragma once

#include <ATen/Parallel.h>

#include <atomic>
#include <cstdint>

// libgomp's entry points, which `-fopenmp` would call: the bridge is compiled without it, because not every compiler has it.
// libtorch brings the library; where it does not, loops run on one thread.
extern "C" {
void GOMP_parallel(void (*)(void *), void *, unsigned, unsigned) __attribute__((weak));
}

namespace whetstone {

// Calls `body(i)` for every i below `count`, on libtorch's threads. `cost` is about how many multiply-adds one call takes:
// what is done sooner than other threads wake up is done here, and small items are taken several at a time. Each thread takes
// the next that nobody has begun, so that items of very different cost end together. What an item computes must not depend
// on which thread does it.
template <class F> void parallel(int64_t count, int64_t cost, const F &body) {
  constexpr int64_t kWorthWaking = 400'000, kPiece = 50'000;
  const int64_t together = 1 + kPiece / (cost < 1 ? 1 : cost);
  struct Shared {
    const F &body;
    int64_t count, together;
    std::atomic<int64_t> next{0};
    void work() {
      for (;;) {
        const int64_t begin = next.fetch_add(together, std::memory_order_relaxed);
        if (begin >= count) return;
        const int64_t end = begin + together < count ? begin + together : count;
        for (int64_t i = begin; i < end; ++i) body(i);
      }
    }
  } shared{body, count, together};
  const int threads = at::get_num_threads();
  if (!GOMP_parallel || threads < 2 || count <= together || count * cost < kWorthWaking) {
    shared.work();
    return;
  }
  GOMP_parallel([](void *data) { static_cast<Shared *>(data)->work(); }, &shared, static_cast<unsigned>(threads), 0);
}

inline bool wideVectors() {
#if defined(__x86_64__)
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return has;
#else
  return false;
#endif
}

}  // namespace whetstone

// A file of kernels is included once for every instruction set, each time in a namespace of its own. On x86 the second set
// is AVX2 with FMA; elsewhere the compiler's baseline has what is needed.
#if defined(__x86_64__) && defined(__clang__)
#define WHETSTONE_WIDE_BEGIN _Pragma("clang attribute push(__attribute__((target(\"avx2,fma\"))), apply_to = function)")
#define WHETSTONE_WIDE_END _Pragma("clang attribute pop")
#elif defined(__x86_64__)
#define WHETSTONE_WIDE_BEGIN _Pragma("GCC push_options") _Pragma("GCC target(\"avx2,fma\")")
#define WHETSTONE_WIDE_END _Pragma("GCC pop_options")
#else
#define WHETSTONE_WIDE_BEGIN
#define WHETSTONE_WIDE_END
#endif
