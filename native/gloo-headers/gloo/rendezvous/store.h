// Stands in for gloo's header, which the torch wheel leaves out while libtorch_cpu has the code. c10d's header names these types and
// nothing here makes one of them.
#pragma once
#include <chrono>
#include <string>
#include <vector>
namespace gloo::rendezvous {
class Store {
public:
  virtual ~Store();
  virtual void set(const std::string &, const std::vector<char> &) = 0;
  virtual std::vector<char> get(const std::string &) = 0;
  virtual void wait(const std::vector<std::string> &) = 0;
  virtual void wait(const std::vector<std::string> &, const std::chrono::milliseconds &) = 0;
};
}  // namespace gloo::rendezvous
