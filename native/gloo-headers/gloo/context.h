// Stands in for gloo's header: see rendezvous/store.h.
#pragma once
#include <chrono>
namespace gloo {
class Context {
public:
  void setTimeout(std::chrono::milliseconds);
};
namespace transport {
class UnboundBuffer {
public:
  virtual ~UnboundBuffer();
};
}  // namespace transport
}  // namespace gloo
