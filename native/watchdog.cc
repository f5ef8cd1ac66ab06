// A thread of its own, for what no JavaScript can do while a function of the user's holds the event loop for ever: to say whose it
// is, to end the process at its time limit, and to hear Ctrl-C. JavaScript writes what has control into a record that this thread
// reads; nothing here is called meanwhile. The directory of a run is safe against a process that ends at any moment.
#include "watchdog.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace whetstone {

namespace {

using Clock = std::chrono::steady_clock;

// What JavaScript writes. The name counts from 1; 0 is nobody. A double is written and read whole.
enum Field { kBeat, kEntered, kEnteredLimit, kWaiting, kWaitingLimit, kFields };

// Exit codes: timeout(1) uses the same one.
constexpr int kTimedOut = 124;
constexpr auto kPoll = std::chrono::milliseconds(50);
// Counted at most between two looks, where a thread cannot be looked at: a machine may have slept, and the process may have been stopped.
constexpr double kLongestPollMs = 500;
constexpr double kLongestSleepMs = 100;
// JavaScript that runs hears a signal within this time.
constexpr auto kSignalGrace = std::chrono::milliseconds(500);
constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

double record[kFields];
std::atomic<bool> claimed{false};

struct Names {
  std::mutex mutex;
  std::vector<std::string> list;
};

// Never destroyed: the thread may outlive everything else.
Names &names() {
  static auto *all = new Names();
  return *all;
}

double field(Field which) { return *static_cast<volatile double *>(&record[which]); }

std::string nameOf(double id) {
  Names &all = names();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto index = static_cast<size_t>(id) - 1;
  return index < all.list.size() ? all.list[index] : "?";
}

[[noreturn]] void end(const std::string &text, int code) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t written = write(STDERR_FILENO, text.data() + done, text.size() - done);
    if (written <= 0) break;
    done += static_cast<size_t>(written);
  }
  _exit(code);
}

// Signals are still Node's: its handler is called after ours, which only remembers that there was one.
// JavaScript has not heard a signal as long as its beat is the one at which the signal arrived.
volatile sig_atomic_t arrived[65];
volatile double arrivedAt[65];
struct sigaction before[65];

void remember(int number, siginfo_t *info, void *context) {
  arrivedAt[number] = field(kBeat);
  arrived[number] = 1;
  const struct sigaction &other = before[number];
  if (other.sa_flags & SA_SIGINFO) other.sa_sigaction(number, info, context);
  else other.sa_handler(number);
}

// Node puts its handler in place when JavaScript first listens to a signal, and takes it away with the last listener.
void stepBetween(int number) {
  struct sigaction now {};
  if (sigaction(number, nullptr, &now) != 0) return;
  const bool ours = (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == remember;
  const bool usual = !(now.sa_flags & SA_SIGINFO) && (now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN);
  if (ours || usual) return;
  before[number] = now;
  struct sigaction next = now;
  next.sa_flags = (now.sa_flags | SA_SIGINFO) & ~SA_RESETHAND;
  next.sa_sigaction = remember;
  sigaction(number, &next, nullptr);
}

// What the watched thread did between two looks at it: a function is blamed for processor time that it used, and for time in which its
// thread slept (it waits for something without letting anything else run). A thread that waits for a processor, or that was stopped,
// does neither: on a busy machine no function is to blame for that time.
class ThreadTime {
 public:
#if defined(__linux__)
  explicit ThreadTime(pthread_t thread, long id) {
    if (pthread_getcpuclockid(thread, &clock) != 0) return;
    char path[64];
    std::snprintf(path, sizeof path, "/proc/self/task/%ld/stat", id);
    file = open(path, O_RDONLY | O_CLOEXEC);
    used = cpuMs();
    slept = sleeps();
  }

  // Milliseconds to be blamed for, of the `wallMs` since the last call.
  double since(double wallMs) {
    if (file < 0) return std::min(wallMs, kLongestPollMs);
    const double before = used;
    const bool sleptBefore = slept;
    used = cpuMs();
    slept = sleeps();
    // Between two looks that come late, a thread that sleeps at both may have done other things.
    const double sleep = sleptBefore && slept ? std::min(wallMs, kLongestSleepMs) : 0;
    return std::max(used - before, sleep);
  }

 private:
  double cpuMs() const {
    struct timespec time {};
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
  }

  // The state is the letter after the name of the thread, which is in parentheses and may have any character.
  bool sleeps() const {
    char text[512];
    const ssize_t size = file < 0 ? -1 : pread(file, text, sizeof text - 1, 0);
    if (size <= 0) return false;
    const std::string line(text, static_cast<size_t>(size));
    const size_t end = line.rfind(')');
    return end != std::string::npos && end + 2 < line.size() && line[end + 2] == 'S';
  }

  clockid_t clock{};
  int file = -1;
  double used = 0;
  bool slept = false;
#else
  double since(double wallMs) { return std::min(wallMs, kLongestPollMs); }
#endif
};

std::string seconds(double ms) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g s", ms / 1000);
  return text;
}

void watch(ThreadTime thread) {
  double beat = 0, held = 0;
  auto last = Clock::now();
  Clock::time_point signalled{};
  for (;;) {
    std::this_thread::sleep_for(kPoll);
    const auto now = Clock::now();
    held += thread.since(std::chrono::duration<double, std::milli>(now - last).count());
    last = now;
    for (const int number : kSignals) stepBetween(number);
    const double latest = field(kBeat);
    const bool entered = field(kEntered) != 0, waits = field(kWaiting) != 0;
    if (latest != beat || (!entered && !waits)) {
      beat = latest;
      held = 0;
      signalled = {};
      continue;
    }
    const std::string who = nameOf(field(entered ? kEntered : kWaiting));
    const double limit = field(entered ? kEnteredLimit : kWaitingLimit);
    const std::string remedy = " What was finished is in the directory of the run: mend it, and resume the run.\n";
    for (const int number : kSignals) {
      if (!arrived[number] || arrivedAt[number] != latest) continue;
      if (signalled == Clock::time_point{}) signalled = now;
      if (now - signalled < kSignalGrace) continue;
      end("\nwhetstone: interrupted while " + who + " held the process: nothing else could run." + remedy, 128 + number);
    }
    if (held > limit)
      end("\nwhetstone: " + who + " has held the process for " + seconds(held) + ", longer than its time limit: nothing else can run. The process ends with exit code " +
              std::to_string(kTimedOut) + "." + remedy,
          kTimedOut);
  }
}

// The record, for the first to ask in this process; undefined for others.
napi_value watchdog(napi_env env, napi_callback_info) {
  napi_value result = nullptr;
  if (claimed.exchange(true) ||
      napi_create_external_arraybuffer(env, record, sizeof record, [](napi_env, void *, void *) {}, nullptr, &result) != napi_ok) {
    napi_get_undefined(env, &result);
    return result;
  }
  for (const int number : kSignals) stepBetween(number);
#if defined(__linux__)
  std::thread(watch, ThreadTime(pthread_self(), syscall(SYS_gettid))).detach();
#else
  std::thread(watch, ThreadTime()).detach();
#endif
  return result;
}

napi_value watchdogName(napi_env env, napi_callback_info info) {
  size_t count = 1, size = 0;
  napi_value text = nullptr, result = nullptr;
  napi_get_cb_info(env, info, &count, &text, nullptr, nullptr);
  if (count < 1 || napi_get_value_string_utf8(env, text, nullptr, 0, &size) != napi_ok) {
    napi_throw_type_error(env, nullptr, "a name is a string");
    return nullptr;
  }
  std::string name(size, '\0');
  napi_get_value_string_utf8(env, text, name.data(), size + 1, &size);
  Names &all = names();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.list.push_back(std::move(name));
  napi_create_double(env, static_cast<double>(all.list.size()), &result);
  return result;
}

// Milliseconds of processor time that the calling thread has used.
napi_value threadCpuMs(napi_env env, napi_callback_info) {
  struct timespec used {};
  napi_value result = nullptr;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  napi_create_double(env, static_cast<double>(used.tv_sec) * 1e3 + static_cast<double>(used.tv_nsec) / 1e6, &result);
  return result;
}

void add(napi_env env, napi_value exports, const char *name, napi_callback callback) {
  napi_value function = nullptr;
  napi_create_function(env, name, NAPI_AUTO_LENGTH, callback, nullptr, &function);
  napi_set_named_property(env, exports, name, function);
}

}  // namespace

void defineWatchdog(napi_env env, napi_value exports) {
  add(env, exports, "watchdog", watchdog);
  add(env, exports, "watchdogName", watchdogName);
  add(env, exports, "threadCpuMs", threadCpuMs);
}

}  // namespace whetstone
