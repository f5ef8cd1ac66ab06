// Counts every byte libtorch allocates on the CPU, whoever holds it: tensors of JavaScript, activations saved for backward,
// temporaries inside operators. A header in front of each block holds its size.
#include "memory.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>
#include <c10/util/Exception.h>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>

namespace whetstone {

namespace {

constexpr size_t kHeader = 64;  // keeps the data aligned as libtorch's own allocator aligns it
constexpr int64_t kLarge = int64_t{64} << 20;
std::atomic<int64_t> current{0}, highest{0};

// What the system could hand out now without swapping, or -1 where it does not say.
int64_t available() {
  int64_t kilobytes = -1;
  if (FILE *file = fopen("/proc/meminfo", "r")) {
    char line[128];
    while (fgets(line, sizeof line, file))
      if (long long value; sscanf(line, "MemAvailable: %lld", &value) == 1) {
        kilobytes = value;
        break;
      }
    fclose(file);
  }
  return kilobytes < 0 ? -1 : kilobytes * 1024;
}

void release(void *data) {
  if (!data) return;
  char *block = static_cast<char *>(data) - kHeader;
  int64_t size;
  memcpy(&size, block, sizeof size);
  current.fetch_sub(size, std::memory_order_relaxed);
  c10::free_cpu(block);
}

struct CountingAllocator final : c10::Allocator {
  const int64_t physical = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);

  c10::DataPtr allocate(size_t bytes) override {
    if (bytes == 0) return {nullptr, nullptr, &release, c10::Device(c10::kCPU)};
    // Linux hands out more memory than there is and kills the process when it is used; refusing is the better failure.
    const auto size = static_cast<int64_t>(bytes);
    const int64_t before = current.load(std::memory_order_relaxed);
    int64_t room = physical - before;
    // Asked only where filling the block costs far more than asking.
    if (size >= kLarge && size <= room)
      if (const int64_t left = available(); left >= 0) room = std::min(room, left);
    if (size < 0 || size > room)
      C10_THROW_ERROR(OutOfMemoryError, "out of memory: " + std::to_string(bytes) + " bytes asked for, " + std::to_string(before) + " in use, " + std::to_string(std::max<int64_t>(room, 0)) + " left of the machine's " + std::to_string(physical));
    char *block = static_cast<char *>(c10::alloc_cpu(bytes + kHeader));
    memcpy(block, &size, sizeof size);
    const int64_t now = current.fetch_add(size, std::memory_order_relaxed) + size;
    int64_t peak = highest.load(std::memory_order_relaxed);
    while (now > peak && !highest.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {}
    void *data = block + kHeader;
    return {data, data, &release, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void *target, const void *source, std::size_t count) const override { default_copy_data(target, source, count); }
};

}  // namespace

void countCpuMemory() {
  static std::once_flag once;
  std::call_once(once, [] { c10::SetCPUAllocator(new CountingAllocator(), 100); });
}

std::array<double, 3> cpuMemory(bool resetPeak) {
  const int64_t now = current.load();
  if (resetPeak) highest.store(now);
  return {static_cast<double>(now), static_cast<double>(highest.load()), static_cast<double>(now)};
}

}  // namespace whetstone
