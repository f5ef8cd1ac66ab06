// Ranks watch each other from a thread of their own, over connections of their own: a rank whose event loop or whose programs are busy
// for minutes still says that it lives, and a rank that is blocked in a collective still ends when its controller is gone.
//
// Rank 0 listens, the others connect. Both sides send a beat a few times per time limit. A rank's beat says how many collectives it has
// begun and finished, so that the rank that others wait for can be named.
#include "napi_call.h"
#include "pulse.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include <algorithm>
#include <chrono>
#include <map>

namespace whetstone {

std::atomic<uint64_t> collectivesBegun{0}, collectivesFinished{0};

namespace {

using Clock = std::chrono::steady_clock;
using Ms = std::chrono::duration<double, std::milli>;

// A rank whose controller is gone ends by itself within this time, or is ended.
constexpr Ms kGrace(2000);
constexpr uint32_t kMostBytes = 1 << 16;
enum Kind : char { kHello = 'h', kBeat = 'b', kWords = 'w', kGoodbye = 'g', kFailed = 'x' };

struct Beat {
  uint64_t begun, finished;
  uint32_t loopMs, idleMs;
};

// What JavaScript is told: see `PulseEvent` of src/tensor/pulse.ts.
struct Event {
  std::string kind, text;
  int rank;
};

struct Connection {
  int fd = -1;
  int rank = -1;  // unknown until it has said so
  bool over = false;  // has said goodbye, or JavaScript knows that it is lost
  Clock::time_point heard = Clock::now();
  std::string in, out;
  Beat last{};
};

void put(std::string &to, Kind kind, const std::string &body) {
  const auto size = static_cast<uint32_t>(body.size());
  to.push_back(kind);
  to.append(reinterpret_cast<const char *>(&size), sizeof size);
  to.append(body);
}

double processCpuMs() {
  struct timespec used {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) * 1e3 + static_cast<double>(used.tv_nsec) / 1e6;
}

void tune(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Addresses resolve(const std::string &host, int port, int flags) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  if (const int code = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found); code != 0)
    throw std::runtime_error(host + ": " + gai_strerror(code));
  return {found, freeaddrinfo};
}

[[noreturn]] void endProcess(const std::string &text) {
  const std::string line = "whetstone: " + text + "\n";
  (void)!::write(STDERR_FILENO, line.data(), line.size());
  _exit(1);
}

class Pulse {
 public:
  const Ms limit, interval;
  int port = 0;

  Pulse(double limitMs, std::string token, int rank)
      : limit(limitMs), interval(std::clamp(limitMs / 10, 20.0, 5000.0)), token_(std::move(token)), rank_(rank), begun_(collectivesBegun), finished_(collectivesFinished) {
    if (pipe(wake_) != 0) throw std::runtime_error("no pipe");
    for (const int fd : wake_) {
      fcntl(fd, F_SETFD, FD_CLOEXEC);
      fcntl(fd, F_SETFL, O_NONBLOCK);
    }
  }

  ~Pulse() {
    for (Connection &one : connections_)
      if (one.fd >= 0) ::close(one.fd);
    for (const int fd : {listening_, wake_[0], wake_[1]})
      if (fd >= 0) ::close(fd);
  }

  void serve(const std::string &host) {
    const Addresses found = resolve(host, 0, AI_PASSIVE);
    listening_ = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listening_ < 0 || ::bind(listening_, found->ai_addr, found->ai_addrlen) != 0 || ::listen(listening_, 2048) != 0)
      throw std::runtime_error("cannot listen on " + host + ": " + strerror(errno));
    sockaddr_storage at{};
    socklen_t size = sizeof at;
    getsockname(listening_, reinterpret_cast<sockaddr *>(&at), &size);
    port = ntohs(at.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6 *>(&at)->sin6_port : reinterpret_cast<sockaddr_in *>(&at)->sin_port);
  }

  // The connection is made without waiting for it: silence of the controller counts from now on.
  void join(const std::string &host, int at) {
    const Addresses found = resolve(host, at, 0);
    const int fd = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) throw std::runtime_error(std::string("no socket: ") + strerror(errno));
    tune(fd);
    if (::connect(fd, found->ai_addr, found->ai_addrlen) != 0 && errno != EINPROGRESS) {
      ::close(fd);
      throw std::runtime_error("the controller at " + host + " cannot be reached: " + strerror(errno));
    }
    Connection &controller = connections_.emplace_back();
    controller.fd = fd;
    controller.rank = 0;
    put(controller.out, kHello, token_ + " " + std::to_string(rank_));
  }

  void start(napi_threadsafe_function events) {
    events_ = events;
    thread_ = std::thread([this] { loop(); });
  }

  void tick() { ticked_ = true; }

  void say(const std::string &text) {
    const std::lock_guard<std::mutex> lock(mutex_);
    // At once: the process may be about to end.
    for (Connection &one : connections_) {
      if (one.fd < 0 || one.out.size() > kMostBytes) continue;
      put(one.out, kWords, text.substr(text.size() > kMostBytes / 2 ? text.size() - kMostBytes / 2 : 0));
      flush(one);
    }
  }

  // The last beat of a rank, and how long ago anything came from it: "heardMs begun finished loopMs".
  std::string look(int rank) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (rank == rank_) {
      const Beat own = beat();
      return "0 " + std::to_string(own.begun) + " " + std::to_string(own.finished) + " 0";
    }
    for (const Connection &one : connections_)
      if (one.rank == rank)
        return std::to_string(Ms(Clock::now() - one.heard).count()) + " " + std::to_string(one.last.begun) + " " + std::to_string(one.last.finished) + " " + std::to_string(one.last.loopMs);
    return "";
  }

  // An orderly end, or with a reason: then the others end too.
  void close(const std::string &reason) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (closing_) return;
      closing_ = true;
      reason_ = reason;
      wake();
    }
    if (thread_.joinable()) thread_.join();
  }

 private:
  const std::string token_;
  const int rank_;
  const uint64_t begun_, finished_;
  int listening_ = -1;
  int wake_[2] = {-1, -1};
  std::mutex mutex_;
  std::thread thread_;
  std::vector<Connection> connections_;
  std::string reason_;
  bool closing_ = false;
  std::atomic<bool> ticked_ = true;
  Clock::time_point turned_ = Clock::now(), busy_ = Clock::now();
  double cpu_ = processCpuMs();
  Clock::time_point looked_ = Clock::now();
  std::optional<Clock::time_point> ending_;
  std::string why_;
  napi_threadsafe_function events_ = nullptr;

  void wake() { (void)!::write(wake_[1], "", 1); }

  void tell(const char *kind, int rank, const std::string &text = "") {
    auto *event = new Event{kind, text, rank};
    if (napi_call_threadsafe_function(events_, event, napi_tsfn_nonblocking) != napi_ok) delete event;
  }

  Beat beat() const {
    const auto now = Clock::now();
    return {collectivesBegun - begun_, collectivesFinished - finished_, static_cast<uint32_t>(Ms(now - turned_).count()), static_cast<uint32_t>(Ms(now - busy_).count())};
  }

  // A process that does nothing: its event loop does not turn, and none of its threads uses a processor.
  void observe(Clock::time_point now) {
    const double cpu = processCpuMs(), wall = Ms(now - looked_).count();
    const bool turned = ticked_.exchange(false);
    if (turned) turned_ = now;
    if (turned || cpu - cpu_ > 0.05 * wall) busy_ = now;
    cpu_ = cpu;
    looked_ = now;
  }

  void loop() {
    auto beaten = Clock::now(), before = beaten;
    for (;;) {
      std::vector<pollfd> polled{{wake_[0], POLLIN, 0}, {listening_, POLLIN, 0}};
      std::vector<int> fds;
      double left = Ms(beaten + interval - Clock::now()).count();
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        for (const Connection &one : connections_)
          if (one.fd >= 0) polled.push_back({one.fd, static_cast<short>(POLLIN | (one.out.empty() ? 0 : POLLOUT)), 0});
      }
      if (ending_) left = std::min(left, Ms(*ending_ - Clock::now()).count());
      ::poll(polled.data(), polled.size(), std::max(1, static_cast<int>(left)));
      const auto now = Clock::now();
      const std::lock_guard<std::mutex> lock(mutex_);
      // Time in which this process itself did not run is not another's silence.
      const Ms lost = now - before - interval;
      if (lost > limit / 4)
        for (Connection &one : connections_) one.heard += std::chrono::duration_cast<Clock::duration>(lost);
      if (lost > limit / 4) busy_ = turned_ = now;
      before = now;
      char drained[256];
      while (::read(wake_[0], drained, sizeof drained) > 0);
      if (listening_ >= 0 && (polled[1].revents & POLLIN)) acceptAll();
      for (size_t i = 2; i < polled.size(); i++)
        for (Connection &one : connections_)
          if (one.fd == polled[i].fd && polled[i].revents != 0) receive(one);
      if (now - beaten >= interval) {
        beaten = now;
        observe(now);
        const Beat own = beat();
        for (Connection &one : connections_)
          if (one.fd >= 0 && one.out.size() < kMostBytes) put(one.out, kBeat, std::string(reinterpret_cast<const char *>(&own), sizeof own));
      }
      if (closing_)
        for (Connection &one : connections_) put(one.out, reason_.empty() ? kGoodbye : kFailed, reason_);
      for (Connection &one : connections_) flush(one);
      if (closing_) break;
      judge(now);
    }
    napi_release_threadsafe_function(events_, napi_tsfn_release);
  }

  void acceptAll() {
    for (int fd = ::accept(listening_, nullptr, nullptr); fd >= 0; fd = ::accept(listening_, nullptr, nullptr)) {
      fcntl(fd, F_SETFD, FD_CLOEXEC);
      tune(fd);
      connections_.emplace_back().fd = fd;
    }
  }

  void flush(Connection &one) {
    while (one.fd >= 0 && !one.out.empty()) {
      const ssize_t sent = ::send(one.fd, one.out.data(), one.out.size(), MSG_NOSIGNAL);
      if (sent <= 0) {
        // What is wrong with the connection shows when it is read, or by silence.
        if (closing_) one.out.clear();
        return;
      }
      one.out.erase(0, static_cast<size_t>(sent));
    }
  }

  void receive(Connection &one) {
    char buffer[4096];
    for (;;) {
      const ssize_t got = ::recv(one.fd, buffer, sizeof buffer, 0);
      if (got > 0) {
        one.in.append(buffer, static_cast<size_t>(got));
        one.heard = Clock::now();
        continue;
      }
      if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR || errno == ENOTCONN)) break;
      const std::string why = got == 0 ? "" : strerror(errno);
      take(one);
      return lose(one, "closed", why);
    }
    take(one);
  }

  void take(Connection &one) {
    constexpr size_t head = 1 + sizeof(uint32_t);
    while (one.fd >= 0 && one.in.size() >= head) {
      uint32_t size = 0;
      memcpy(&size, one.in.data() + 1, sizeof size);
      if (size > kMostBytes) return lose(one, "closed", "what came is not a beat");
      if (one.in.size() < head + size) return;
      const auto kind = static_cast<Kind>(one.in[0]);
      const std::string body = one.in.substr(head, size);
      one.in.erase(0, head + size);
      understand(one, kind, body);
    }
  }

  void understand(Connection &one, Kind kind, const std::string &body) {
    if (one.rank < 0) {
      const size_t space = body.rfind(' ');
      if (kind != kHello || space == std::string::npos || body.substr(0, space) != token_) return drop(one);
      one.rank = std::atoi(body.c_str() + space + 1);
    } else if (kind == kBeat && body.size() == sizeof one.last) memcpy(&one.last, body.data(), sizeof one.last);
    else if (kind == kWords) tell("words", one.rank, body);
    else if (kind == kGoodbye) one.over = true;
    else if (kind == kFailed) lose(one, "failed", body);
  }

  void drop(Connection &one) {
    if (one.fd >= 0) ::close(one.fd);
    one.fd = -1;
  }

  void lose(Connection &one, const char *how, const std::string &text) {
    const bool known = one.rank >= 0 && !one.over;
    one.over = true;
    drop(one);
    if (!known) return;
    tell(how, one.rank, text);
    if (rank_ == 0) return;
    // JavaScript ends this process in order, if it can.
    why_ = "rank " + std::to_string(rank_) + " ends: " + (how == std::string("failed") ? text : how == std::string("silent") ? "nothing comes from rank 0 any more" : "rank 0 is gone");
    ending_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(kGrace);
  }

  void judge(Clock::time_point now) {
    if (ending_ && now >= *ending_) endProcess(why_);
    for (Connection &one : connections_) {
      if (one.fd < 0 || one.over) continue;
      const Ms silence = now - one.heard;
      if (silence > limit) lose(one, "silent", std::to_string(silence.count()));
      else if (rank_ == 0 && one.last.idleMs > limit.count()) lose(one, "stuck", std::to_string(one.last.idleMs));
    }
    connections_.erase(std::remove_if(connections_.begin(), connections_.end(), [](const Connection &one) { return one.fd < 0 && one.rank < 0; }), connections_.end());
  }
};

// Never destroyed with the process: threads may outlive everything else.
std::map<int, std::unique_ptr<Pulse>> &pulses() {
  static auto *all = new std::map<int, std::unique_ptr<Pulse>>();
  return *all;
}

Pulse &pulseAt(Call &c) {
  const auto found = pulses().find(c.integer(0));
  if (found == pulses().end()) throw ArgError("a pulse that was closed");
  return *found->second;
}

void deliver(napi_env env, napi_value callback, void *, void *data) {
  const std::unique_ptr<Event> event(static_cast<Event *>(data));
  if (!env) return;
  napi_value args[3], receiver = nullptr, ignored = nullptr;
  napi_create_string_utf8(env, event->kind.data(), event->kind.size(), &args[0]);
  napi_create_double(env, event->rank, &args[1]);
  napi_create_string_utf8(env, event->text.data(), event->text.size(), &args[2]);
  napi_get_undefined(env, &receiver);
  napi_call_function(env, receiver, callback, 3, args, &ignored);
}

napi_value begin(Call &c, std::unique_ptr<Pulse> pulse, size_t callback) {
  if (callback >= c.count) throw ArgError("a pulse needs a function for its events");
  napi_value name = nullptr;
  napi_threadsafe_function events = nullptr;
  napi_create_string_utf8(c.env, "whetstone pulse", NAPI_AUTO_LENGTH, &name);
  if (napi_create_threadsafe_function(c.env, c.values[callback], nullptr, name, 0, 1, nullptr, nullptr, nullptr, deliver, &events) != napi_ok)
    throw ArgError("a pulse needs a function for its events");
  napi_unref_threadsafe_function(c.env, events);
  static int next = 1;
  const int ref = next++;
  pulse->start(events);
  pulses().emplace(ref, std::move(pulse));
  return c.out(ref);
}

// host, token, time limit, events
napi_value pulseServe(Call &c) {
  auto pulse = std::make_unique<Pulse>(c.number(2), c.text(1), 0);
  pulse->serve(c.text(0));
  return begin(c, std::move(pulse), 3);
}

// host, port, token, rank, time limit, events
napi_value pulseJoin(Call &c) {
  auto pulse = std::make_unique<Pulse>(c.number(4), c.text(2), c.integer(3));
  pulse->join(c.text(0), c.integer(1));
  return begin(c, std::move(pulse), 5);
}

napi_value pulsePort(Call &c) { return c.out(pulseAt(c).port); }

napi_value pulseTick(Call &c) {
  pulseAt(c).tick();
  return c.nothing();
}

napi_value pulseSay(Call &c) {
  pulseAt(c).say(c.text(1));
  return c.nothing();
}

napi_value pulseLook(Call &c) { return c.out(pulseAt(c).look(c.integer(1))); }

// with why the others have to end; empty for a job that went well
napi_value pulseClose(Call &c) {
  const auto found = pulses().find(c.integer(0));
  if (found == pulses().end()) return c.nothing();
  found->second->close(c.text(1));
  pulses().erase(found);
  return c.nothing();
}

// The process is killed when its parent ends, however that ends. Answers with the parent it has.
napi_value endWithParent(Call &c) {
#if defined(__linux__)
  prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
  return c.out(static_cast<double>(getppid()));
}

}  // namespace

void definePulse(napi_env env, napi_value exports, Bridge *b) {
  define<pulseServe>(env, exports, "pulseServe", b);
  define<pulseJoin>(env, exports, "pulseJoin", b);
  define<pulsePort>(env, exports, "pulsePort", b);
  define<pulseTick>(env, exports, "pulseTick", b);
  define<pulseSay>(env, exports, "pulseSay", b);
  define<pulseLook>(env, exports, "pulseLook", b);
  define<pulseClose>(env, exports, "pulseClose", b);
  define<endWithParent>(env, exports, "endWithParent", b);
}

}  // namespace whetstone
