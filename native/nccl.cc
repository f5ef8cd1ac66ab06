#include "nccl.h"

#include <ATen/ops/zeros.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <dlfcn.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>

namespace whetstone {

namespace {

// As in nccl.h of NVIDIA.
struct UniqueId {
  char bytes[128];
};
constexpr int kSuccess = 0, kInProgress = 7;

struct Library {
  void *handle = dlopen("libnccl.so.2", RTLD_LAZY | RTLD_LOCAL);
  int (*getUniqueId)(UniqueId *) = nullptr;
  int (*initRank)(void **, int, UniqueId, int) = nullptr;
  int (*destroy)(void *) = nullptr;
  int (*abort)(void *) = nullptr;
  int (*asyncError)(void *, int *) = nullptr;
  int (*allReduce)(const void *, void *, size_t, int, int, void *, void *) = nullptr;
  int (*reduceScatter)(const void *, void *, size_t, int, int, void *, void *) = nullptr;
  int (*allGather)(const void *, void *, size_t, int, void *, void *) = nullptr;
  int (*broadcast)(const void *, void *, size_t, int, int, void *, void *) = nullptr;
  const char *(*errorText)(int) = nullptr;

  template <class F> void find(F &function, const char *name) {
    function = reinterpret_cast<F>(dlsym(handle, name));
    if (!function) throw std::runtime_error(std::string(name) + " is missing from libnccl.so.2");
  }
  Library() {
    if (!handle) throw std::runtime_error("libnccl.so.2 was not found: install the NCCL that this PyTorch was built with, or use gloo");
    find(getUniqueId, "ncclGetUniqueId");
    find(initRank, "ncclCommInitRank");
    find(destroy, "ncclCommDestroy");
    find(abort, "ncclCommAbort");
    find(asyncError, "ncclCommGetAsyncError");
    find(allReduce, "ncclAllReduce");
    find(reduceScatter, "ncclReduceScatter");
    find(allGather, "ncclAllGather");
    find(broadcast, "ncclBroadcast");
    find(errorText, "ncclGetErrorString");
  }
};

Library &library() {
  static auto *found = new Library();
  return *found;
}

void check(int code) {
  if (code != kSuccess) throw std::runtime_error(std::string("NCCL: ") + library().errorText(code));
}

int typeOf(const at::Tensor &tensor) {
  switch (tensor.scalar_type()) {
    case at::kByte: return 1;
    case at::kInt: return 2;
    case at::kLong: return 4;
    case at::kHalf: return 6;
    case at::kFloat: return 7;
    case at::kDouble: return 8;
    case at::kBFloat16: return 9;
    default: throw std::runtime_error("NCCL does not take this dtype");
  }
}

void *currentStream(int device) {
  static auto *shim = reinterpret_cast<int (*)(int32_t, void **)>(dlsym(RTLD_DEFAULT, "aoti_torch_get_current_cuda_stream"));
  void *stream = nullptr;
  if (!shim || shim(device, &stream) != 0) throw std::runtime_error("libtorch does not tell its current CUDA stream");
  return stream;
}

}  // namespace

std::vector<uint8_t> ncclUniqueId() {
  UniqueId id{};
  check(library().getUniqueId(&id));
  return std::vector<uint8_t>(id.bytes, id.bytes + sizeof id.bytes);
}

Nccl::Nccl(const std::vector<uint8_t> &id, int rank, int size, int device, std::chrono::milliseconds limit) : size(size), device_(device), limit_(limit) {
  UniqueId given{};
  if (id.size() != sizeof given.bytes) throw std::runtime_error("NCCL: a unique id has 128 bytes");
  memcpy(given.bytes, id.data(), id.size());
  const c10::DeviceGuard guard(c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(device)));
  check(library().initRank(&comm_, size, given, rank));
}

Nccl::~Nccl() {
  if (comm_) library().destroy(comm_);
}

void Nccl::giveUp() {
  library().abort(comm_);
  comm_ = nullptr;
}

template <class Launch> void Nccl::run(const at::Tensor &tensor, Launch launch) {
  if (!comm_) throw std::runtime_error("NCCL: this group was aborted");
  if (!tensor.is_cuda()) throw std::runtime_error("NCCL computes on CUDA tensors alone; use a gloo group for tensors of the CPU");
  const c10::Device device(c10::kCUDA, static_cast<c10::DeviceIndex>(device_));
  const c10::DeviceGuard guard(device);
  check(launch(comm_, currentStream(device_)));
  const c10::impl::VirtualGuardImpl impl(c10::kCUDA);
  c10::Event event(c10::kCUDA);
  event.record(impl.getStream(device));
  const auto end = std::chrono::steady_clock::now() + limit_;
  for (int round = 0; !event.query(); ++round) {
    int state = kSuccess;
    library().asyncError(comm_, &state);
    const bool late = std::chrono::steady_clock::now() > end;
    if ((state != kSuccess && state != kInProgress) || late || aborted_) {
      const std::string why = late ? "a collective was not finished within " + std::to_string(limit_.count()) + " ms" : aborted_ ? "this group was aborted" : library().errorText(state);
      giveUp();
      throw std::runtime_error("NCCL: " + why);
    }
    // Most collectives are done at once; for the others a sleep costs less than a core.
    if (round > 1000) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

void Nccl::allReduce(const at::Tensor &tensor, Op op) {
  run(tensor, [&](void *comm, void *stream) { return library().allReduce(tensor.data_ptr(), tensor.data_ptr(), tensor.numel(), typeOf(tensor), op, comm, stream); });
}

void Nccl::reduceScatter(const at::Tensor &part, const at::Tensor &whole) {
  run(part, [&](void *comm, void *stream) { return library().reduceScatter(whole.data_ptr(), part.data_ptr(), part.numel(), typeOf(part), Sum, comm, stream); });
}

void Nccl::allGather(const at::Tensor &whole, const at::Tensor &part) {
  run(part, [&](void *comm, void *stream) { return library().allGather(part.data_ptr(), whole.data_ptr(), part.numel(), typeOf(part), comm, stream); });
}

void Nccl::broadcast(const at::Tensor &tensor, int root) {
  run(tensor, [&](void *comm, void *stream) { return library().broadcast(tensor.data_ptr(), tensor.data_ptr(), tensor.numel(), typeOf(tensor), root, comm, stream); });
}

void Nccl::barrier() {
  allReduce(at::zeros({1}, at::TensorOptions().dtype(at::kInt).device(c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(device_)))), Sum);
}

}  // namespace whetstone
