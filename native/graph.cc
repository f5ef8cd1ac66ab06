// CUDA graphs and the caching allocator's figures: the one file that needs CUDA's runtime headers.
#include "bridge.h"

#ifdef WHETSTONE_CUDA_GRAPHS

#include <ATen/cuda/CUDAGraph.h>
#include <ATen/ops/empty.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

namespace whetstone {

struct Graph {
  explicit Graph(c10::cuda::CUDAStream stream) : stream(stream) {}

  const c10::cuda::CUDAStream stream;  // it was captured on
  at::cuda::CUDAGraph graph;
  std::vector<IValue> inputs, outputs;  // the memory the graph reads and writes
};

namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;

// Thread-local: what other threads do with CUDA meanwhile does not end up in, or break, a capture.
constexpr auto kMode = cudaStreamCaptureModeThreadLocal;

// A capture that CUDA itself broke off leaves libtorch as if it went on: its allocator still gives this stream memory of the
// graph's pool, and its generator refuses to draw. The one is told; a small capture that succeeds puts the other right.
void abandon(at::cuda::CUDAGraph &graph, at::cuda::MempoolId_t pool, c10::DeviceIndex device) {
  try {
    graph.capture_end();
    return;
  } catch (...) {
  }
  try {
    allocator::endAllocateToPool(device, pool);
    allocator::releasePool(device, pool);
    const Tensor something = at::empty({1}, at::TensorOptions(c10::Device(c10::kCUDA, device)));
    at::cuda::CUDAGraph small;
    small.capture_begin({0, 0}, kMode);
    something.zero_();
    small.capture_end();
  } catch (...) {  // the reason the capture failed is what the caller should hear
  }
}

}  // namespace

std::shared_ptr<Graph> captureGraph(const Program &program, const std::vector<IValue> &inputs, int warmups, const std::shared_ptr<Graph> &beside, std::vector<IValue> &outputs) {
  // Capture needs a stream of its own; memory that one stream gave back is not given to another.
  const c10::cuda::CUDAStream outside = c10::cuda::getCurrentCUDAStream();
  const c10::cuda::CUDAStream stream = beside ? beside->stream : c10::cuda::getStreamFromPool();
  auto captured = std::make_shared<Graph>(stream);
  captured->inputs = inputs;
  C10_CUDA_CHECK(cudaStreamSynchronize(outside));
  {
    const c10::cuda::CUDAStreamGuard guard(stream);
    // Warming up lets cuBLAS and the allocator make what must not be made inside.
    for (int i = 0; i < warmups; ++i) execute(program, inputs);
    C10_CUDA_CHECK(cudaDeviceSynchronize());
    const auto pool = beside ? beside->graph.pool() : at::cuda::graph_pool_handle();
    captured->graph.capture_begin(pool, kMode);
    try {
      captured->outputs = execute(program, inputs);
    } catch (...) {
      abandon(captured->graph, pool, stream.device_index());
      throw;
    }
    captured->graph.capture_end();
  }
  outputs = captured->outputs;
  return captured;
}

void replayGraph(Graph &graph) { graph.graph.replay(); }
bool cudaGraphsBuilt() { return true; }

std::array<double, 3> cudaMemory(int device, bool resetPeak) {
  if (resetPeak) allocator::resetPeakStats(static_cast<c10::DeviceIndex>(device));
  const auto stats = allocator::getDeviceStats(static_cast<c10::DeviceIndex>(device));
  const auto &allocated = stats.allocated_bytes[0];
  return {static_cast<double>(allocated.current), static_cast<double>(allocated.peak), static_cast<double>(stats.reserved_bytes[0].current)};
}

double cudaFreeMemory(int device) {
  const c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(device));
  size_t free = 0, total = 0;
  C10_CUDA_CHECK(cudaMemGetInfo(&free, &total));
  const auto stats = allocator::getDeviceStats(static_cast<c10::DeviceIndex>(device));
  // What the allocator keeps for later is not free to other programs, but it is to this one.
  return static_cast<double>(free) + static_cast<double>(stats.reserved_bytes[0].current - stats.allocated_bytes[0].current);
}

}  // namespace whetstone

#else

namespace whetstone {

struct Graph {};

static const char *kMissing = "this bridge was built without CUDA's headers (cuda_runtime_api.h); install them or set CUDA_HOME, then run `npx whetstone setup`";

std::shared_ptr<Graph> captureGraph(const Program &, const std::vector<IValue> &, int, const std::shared_ptr<Graph> &, std::vector<IValue> &) { throw ArgError(kMissing); }
void replayGraph(Graph &) { throw ArgError(kMissing); }
bool cudaGraphsBuilt() { return false; }
std::array<double, 3> cudaMemory(int, bool) { return {0, 0, 0}; }
double cudaFreeMemory(int) { return -1; }

}  // namespace whetstone

#endif
