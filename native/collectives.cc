// Several processes that train together: libtorch's own store and collectives (c10d with gloo), NCCL for tensors on GPUs. Every
// call runs on the thread of its store or group, in the order of the calls, and answers with a promise.
#include "napi_call.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#ifdef WHETSTONE_COLLECTIVES
#define USE_C10D_GLOO
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#endif
#include "nccl.h"
#include "pulse.h"

namespace whetstone {

#ifdef WHETSTONE_COLLECTIVES

struct Link {
  c10::intrusive_ptr<c10d::TCPStore> store;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> gloo;
  std::unique_ptr<Nccl> nccl;
  // Destroyed first: its thread uses the others.
  Runner runner{Runner::Ending::Leaves};
};

namespace {

using std::chrono::milliseconds;

milliseconds time(Call &c, size_t i) {
  const double given = c.number(i);
  if (!(given > 0 && given < 1e12)) throw ArgError("a time limit is a positive number of milliseconds");
  return milliseconds(static_cast<int64_t>(given));
}

Link &linkAt(Call &c, size_t i) { return *c.b.item(c.b.links, c.number(i), "a store or a process group"); }

// A link whose thread is inside a collective is not freed: the thread would wake up in memory that is gone.
double keepLink(Bridge &b, Link *made) {
  made->runner.done = b.runner.done;
  return b.links.add(std::shared_ptr<Link>(made, [](Link *link) {
    if (!link->runner.close().left) delete link;
  }));
}

// c10d's server listens on every interface; given a socket, it listens where the socket is bound.
int listenAt(const std::string &host, int port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  if (const int code = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found); code != 0)
    throw std::runtime_error(host + ": " + gai_strerror(code));
  std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> list(found, freeaddrinfo);
  std::string problem = "no address";
  for (const addrinfo *one = found; one; one = one->ai_next) {
    const int fd = ::socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, one->ai_protocol);
    const int on = 1;
    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 && ::bind(fd, one->ai_addr, one->ai_addrlen) == 0 && ::listen(fd, 2048) == 0) return fd;
    problem = strerror(errno);
    if (fd >= 0) ::close(fd);
  }
  throw std::runtime_error("cannot listen on " + host + " port " + std::to_string(port) + ": " + problem);
}

int portOf(int fd) {
  sockaddr_storage at{};
  socklen_t size = sizeof at;
  if (getsockname(fd, reinterpret_cast<sockaddr *>(&at), &size) != 0) throw std::runtime_error("a socket without an address");
  return ntohs(at.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6 *>(&at)->sin6_port : reinterpret_cast<sockaddr_in *>(&at)->sin_port);
}

// host, port, whether to serve it here, time limit; answers with the store and its port
napi_value openStore(Call &c) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(c.integer(1));
  options.isServer = c.boolean(2);
  options.waitWorkers = false;
  options.timeout = time(c, 3);
  auto *link = new Link();
  // Kept before it is connected: connecting takes as long as the other machine lets it, on a thread that no program waits for. One
  // that fails stays until the end of the process, and is nothing but that thread.
  const double ref = keepLink(c.b, link);
  return startOn(
      c, link->runner,
      [link, options, host = c.text(0)]() mutable -> std::vector<IValue> {
        if (options.isServer) {
          const int fd = listenAt(host, options.port);
          options.masterListenFd = fd;
          options.port = static_cast<uint16_t>(portOf(fd));
        }
        link->store = c10::make_intrusive<c10d::TCPStore>(host, options);
        return {IValue(static_cast<int64_t>(options.port))};
      },
      [ref](std::vector<IValue> &) { return ref; });
}

Tensor bytesOf(const std::vector<uint8_t> &bytes) {
  Tensor tensor = at::empty({static_cast<int64_t>(bytes.size())}, at::kByte);
  if (!bytes.empty()) memcpy(tensor.mutable_data_ptr<uint8_t>(), bytes.data(), bytes.size());
  return tensor;
}

c10d::TCPStore &storeOf(Link &link) {
  if (!link.store) throw ArgError("this is a process group, not a store");
  return *link.store;
}

napi_value storeSet(Call &c) {
  Link &link = linkAt(c, 0);
  const auto [data, size] = c.bytes(2);
  return startOn(c, link.runner, [&store = storeOf(link), key = c.text(1), value = std::vector<uint8_t>(data, data + size)]() -> std::vector<IValue> {
    store.set(key, value);
    return {};
  });
}

// Waits until the key is there.
napi_value storeGet(Call &c) {
  Link &link = linkAt(c, 0);
  return startOn(c, link.runner, [&store = storeOf(link), key = c.text(1), limit = time(c, 2)]() -> std::vector<IValue> {
    store.wait({key}, limit);
    return {bytesOf(store.get(key))};
  });
}

napi_value storeCheck(Call &c) {
  Link &link = linkAt(c, 0);
  return startOn(c, link.runner, [&store = storeOf(link), key = c.text(1)]() -> std::vector<IValue> { return {IValue(static_cast<int64_t>(store.check({key})))}; });
}

napi_value storeAdd(Call &c) {
  Link &link = linkAt(c, 0);
  return startOn(c, link.runner, [&store = storeOf(link), key = c.text(1), by = c.integer(2)]() -> std::vector<IValue> { return {IValue(store.add(key, by))}; });
}

napi_value storeDelete(Call &c) {
  Link &link = linkAt(c, 0);
  return startOn(c, link.runner, [&store = storeOf(link), key = c.text(1)]() -> std::vector<IValue> { return {IValue(static_cast<int64_t>(store.deleteKey(key)))}; });
}

struct Membership {
  c10::intrusive_ptr<c10d::Store> store;
  int rank, size;
  milliseconds limit;
};

Membership membership(Call &c) {
  const int rank = c.integer(2), size = c.integer(3);
  if (size < 1 || rank < 0 || rank >= size) throw ArgError("rank " + std::to_string(rank) + " of " + std::to_string(size));
  storeOf(linkAt(c, 0));
  return {c10::make_intrusive<c10d::PrefixStore>(c.text(1), linkAt(c, 0).store), rank, size, time(c, 4)};
}

// store, name, rank, size, time limit, the address of this machine that the others reach
napi_value joinGloo(Call &c) {
  auto link = std::make_shared<std::unique_ptr<Link>>(std::make_unique<Link>());
  Bridge &b = c.b;
  return startOn(
      c, linkAt(c, 0).runner,
      [link, of = membership(c), host = c.text(5)]() -> std::vector<IValue> {
        auto options = c10d::ProcessGroupGloo::Options::create(of.limit);
        options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(host));
        (*link)->gloo = c10::make_intrusive<c10d::ProcessGroupGloo>(of.store, of.rank, of.size, options);
        return {};
      },
      [link, &b](std::vector<IValue> &) { return keepLink(b, link->release()); });
}

// store, name, rank, size, time limit, index of the CUDA device
napi_value joinNccl(Call &c) {
  auto link = std::make_shared<std::unique_ptr<Link>>(std::make_unique<Link>());
  Bridge &b = c.b;
  return startOn(
      c, linkAt(c, 0).runner,
      [link, of = membership(c), device = c.integer(5)]() -> std::vector<IValue> {
        std::vector<uint8_t> id;
        if (of.rank == 0) of.store->set("nccl", id = ncclUniqueId());
        else of.store->wait({"nccl"}, of.limit), id = of.store->get("nccl");
        (*link)->nccl = std::make_unique<Nccl>(id, of.rank, of.size, device, of.limit);
        return {};
      },
      [link, &b](std::vector<IValue> &) { return keepLink(b, link->release()); });
}

void check(bool right, const std::string &problem) {
  if (!right) throw ArgError(problem);
}

// gloo computes in host memory; a tensor of a GPU is copied there and back.
Tensor staged(const Tensor &tensor) { return tensor.is_cuda() ? tensor.cpu() : tensor; }
void putBack(Tensor tensor, const Tensor &host) {
  if (tensor.is_cuda()) tensor.copy_(host);
}

enum Collective : int { AllReduceSum, AllReduceMax, ReduceScatter, AllGather, Broadcast, Barrier };

void runGloo(c10d::ProcessGroupGloo &gloo, Collective what, const Tensor &target, const Tensor &source, int root) {
  if (what == Barrier) {
    gloo.barrier()->wait();
    return;
  }
  Tensor out = staged(target);
  std::vector<Tensor> outs{out};
  switch (what) {
    case AllReduceSum:
    case AllReduceMax: {
      c10d::AllreduceOptions options;
      options.reduceOp = what == AllReduceSum ? c10d::ReduceOp::SUM : c10d::ReduceOp::MAX;
      gloo.allreduce(outs, options)->wait();
      break;
    }
    case Broadcast: {
      c10d::BroadcastOptions options;
      options.rootRank = root;
      gloo.broadcast(outs, options)->wait();
      break;
    }
    case ReduceScatter: {
      Tensor in = staged(source);
      gloo._reduce_scatter_base(out, in)->wait();
      break;
    }
    case AllGather: {
      Tensor in = staged(source);
      gloo._allgather_base(out, in)->wait();
      break;
    }
    case Barrier: break;
  }
  putBack(target, out);
}

void runNccl(Nccl &nccl, Collective what, const Tensor &target, const Tensor &source, int root) {
  switch (what) {
    case AllReduceSum: return nccl.allReduce(target, Nccl::Sum);
    case AllReduceMax: return nccl.allReduce(target, Nccl::Max);
    case ReduceScatter: return nccl.reduceScatter(target, source);
    case AllGather: return nccl.allGather(target, source);
    case Broadcast: return nccl.broadcast(target, root);
    case Barrier: return nccl.barrier();
  }
}

// group, which, target, source (reduce-scatter and all-gather), the rank that broadcasts
napi_value collective(Call &c) {
  Link &link = linkAt(c, 0);
  const auto what = static_cast<Collective>(c.integer(1));
  check(link.gloo || link.nccl, "this is a store, not a process group");
  check(what >= AllReduceSum && what <= Barrier, "an unknown collective");
  const Tensor target = what == Barrier ? Tensor() : c.tensor(2);
  const bool pair = what == ReduceScatter || what == AllGather;
  const Tensor source = pair ? c.tensor(3) : Tensor();
  for (const Tensor *one : {&target, &source})
    check(!one->defined() || one->is_contiguous(), "a collective needs contiguous tensors");
  const int size = link.gloo ? link.gloo->getSize() : link.nccl->size;
  if (pair) {
    const auto [whole, part] = what == AllGather ? std::pair(target, source) : std::pair(source, target);
    check(whole.scalar_type() == part.scalar_type() && whole.numel() == part.numel() * size,
          "of " + std::to_string(size) + " ranks, the whole has " + std::to_string(size) + " times the elements of a part, in the same dtype");
  }
  return startOn(c, link.runner, [&link, what, target, source, root = c.integer(4)]() -> std::vector<IValue> {
    c10::AutoGradMode off(false);
    ++collectivesBegun;
    const Tensor to = target.defined() ? target.detach() : target;
    const Tensor from = source.defined() ? source.detach() : source;
    if (link.gloo) runGloo(*link.gloo, what, to, from, root);
    else runNccl(*link.nccl, what, to, from, root);
    ++collectivesFinished;
    return {};
  });
}

// Ends a collective that waits for others, as far as its backend can: NCCL's kernels are aborted. One of gloo ends when the other
// process does, or at its time limit; its thread is left to it.
napi_value abortLink(Call &c) {
  std::shared_ptr<Link> *found = c.b.links.get(c.number(0));
  if (found && (*found)->nccl) (*found)->nccl->abort();
  return c.nothing();
}

// What waits in it is given up: see Runner::close.
napi_value releaseLink(Call &c) {
  std::shared_ptr<Link> *found = c.b.links.get(c.number(0));
  if (!found) return c.nothing();
  if ((*found)->nccl) (*found)->nccl->abort();
  const size_t dropped = (*found)->runner.close().dropped;
  c.b.awaited -= static_cast<int>(dropped);
  if (dropped > 0 && c.b.awaited == 0) napi_unref_threadsafe_function(c.env, c.b.runner.done);
  c.b.links.remove(c.number(0));
  return c.nothing();
}

}  // namespace

void defineCollectives(napi_env env, napi_value exports, Bridge *b) {
  define<openStore>(env, exports, "openStore", b);
  define<storeSet>(env, exports, "storeSet", b);
  define<storeGet>(env, exports, "storeGet", b);
  define<storeCheck>(env, exports, "storeCheck", b);
  define<storeAdd>(env, exports, "storeAdd", b);
  define<storeDelete>(env, exports, "storeDelete", b);
  define<joinGloo>(env, exports, "joinGloo", b);
  define<joinNccl>(env, exports, "joinNccl", b);
  define<collective>(env, exports, "collective", b);
  define<abortLink>(env, exports, "abortLink", b);
  define<releaseLink>(env, exports, "releaseLink", b);
}

#else

// This libtorch has no c10d, or one that these sources do not fit: `collectives()` of src/tensor says so.
struct Link {};
void defineCollectives(napi_env, napi_value, Bridge *) {}

#endif

}  // namespace whetstone
