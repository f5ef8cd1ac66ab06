// NCCL, found with dlopen: every CUDA build of PyTorch brings it, and building the bridge needs none of its headers.
#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

namespace whetstone {

std::vector<uint8_t> ncclUniqueId();

// A communicator of one GPU in a group. Calls wait for the device, and end with an error after the time limit or `abort`: a kernel
// of NCCL whose peer is gone would never end.
class Nccl {
public:
  enum Op : int { Sum = 0, Max = 2 };
  const int size;

  Nccl(const std::vector<uint8_t> &id, int rank, int size, int device, std::chrono::milliseconds limit);
  ~Nccl();
  void allReduce(const at::Tensor &tensor, Op op);
  void reduceScatter(const at::Tensor &part, const at::Tensor &whole);
  void allGather(const at::Tensor &whole, const at::Tensor &part);
  void broadcast(const at::Tensor &tensor, int root);
  void barrier();
  // From another thread.
  void abort() { aborted_ = true; }

private:
  void *comm_ = nullptr;
  const int device_;
  const std::chrono::milliseconds limit_;
  std::atomic<bool> aborted_ = false;

  template <class Launch> void run(const at::Tensor &tensor, Launch launch);
  void giveUp();
};

}  // namespace whetstone
