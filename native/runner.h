// The thread that runs programs, so that the event loop does not.
#pragma once

#include "bridge.h"

#include <node_api.h>

#include <atomic>
#include <cstdlib>
#include <set>

namespace whetstone {

struct Job {
  bool program = true;  // of the bridge's own runner
  std::function<std::vector<IValue>()> work;
  std::function<double(std::vector<IValue> &)> keep;  // on the JavaScript thread: makes a handle that comes before the results
  napi_deferred deferred = nullptr;
  std::vector<IValue> results;
  std::exception_ptr error;
};

// One thread per JavaScript thread runs its programs in the order they were started. Stores and process groups have threads of their
// own: what waits for another process must not keep programs waiting.
class Runner {
public:
  // Whether the end of the process waits for what is running. A collective whose peer is gone would keep it for minutes.
  enum class Ending { Waits, Leaves };

private:
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job *> queue_;
  std::atomic<bool> stop_ = false;
  bool busy_ = false;
  const Ending ending_;

  static std::mutex &listMutex() {
    static auto *mutex = new std::mutex();
    return *mutex;
  }
  static std::set<Runner *> &list() {
    static auto *runners = new std::set<Runner *>();
    return *runners;
  }

public:
  napi_threadsafe_function done = nullptr;
  int pending = 0;

  explicit Runner(Ending ending = Ending::Waits) : ending_(ending) {
    std::lock_guard<std::mutex> lock(listMutex());
    list().insert(this);
    // process.exit() skips the environment's clean-up and destroys libtorch's globals, which a running operator still uses.
    static const int registered = std::atexit([] {
      std::lock_guard<std::mutex> lock(listMutex());
      for (Runner *runner : list()) runner->close();
    });
    (void)registered;
  }
  ~Runner() {
    std::lock_guard<std::mutex> lock(listMutex());
    list().erase(this);
  }

  void post(Job *job) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!thread_.joinable()) thread_ = std::thread([this] { loop(); });
    queue_.push_back(job);
    wake_.notify_one();
  }
  void loop() {
    interrupted = &stop_;
    while (true) {
      Job *job;
      {
        std::unique_lock<std::mutex> lock(mutex_);
        busy_ = false;
        wake_.wait(lock, [this] { return stop_ || !queue_.empty(); });
        if (stop_) return;
        job = queue_.front();
        queue_.pop_front();
        busy_ = true;
      }
      try {
        job->results = job->work();
      } catch (...) {
        job->error = std::current_exception();
      }
      job->work = nullptr;
      if (stop_ || napi_call_threadsafe_function(done, job, napi_tsfn_blocking) != napi_ok) delete job;
    }
  }
  struct Closed {
    bool left = false;  // the thread was left to what it is doing, and still uses this object
    size_t dropped = 0;  // jobs that were never begun
  };
  // A program that is running ends with its current operator, which cannot be interrupted.
  Closed close() {
    Closed closed;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stop_ = true;
      closed = {busy_ && ending_ == Ending::Leaves, queue_.size()};
      for (Job *job : queue_) delete job;
      queue_.clear();
      wake_.notify_one();
    }
    if (!thread_.joinable()) return closed;
    if (closed.left) thread_.detach();
    else thread_.join();
    return closed;
  }
};

}  // namespace whetstone
