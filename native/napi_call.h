// What a function called from JavaScript has at hand: its arguments, what its thread owns, and errors that become JavaScript's.
#pragma once

#include "runner.h"
#include "values.h"

#include <ATen/Context.h>
#include <c10/core/Stream.h>

#include <cmath>
#include <cstring>

namespace whetstone {

// A connection to other processes: a store or a process group.
struct Link;

struct Bridge {
  Store store;
  std::shared_ptr<double[]> memory;  // the mailbox
  double *box = nullptr;
  size_t boxSize = 0;
  napi_ref onMailbox = nullptr;  // the function that takes a new one
  int64_t untold = 0;  // bytes by which V8's figure is behind
  std::vector<const Op *> ops;
  std::unordered_map<std::string, double> interned;
  std::vector<std::shared_ptr<Recording>> recordings;  // innermost last
  int nextRecording = 1;
  Table<std::shared_ptr<Program>> programs;
  Table<std::shared_ptr<Kernel>> kernels;
  Table<std::shared_ptr<Graph>> graphs;
  std::vector<c10::Stream> streams;
  std::optional<c10::Stream> stream;  // what JavaScript made current; programs started meanwhile run there too
  Runner runner;
  Table<std::shared_ptr<Link>> links;
  int awaited = 0;  // promises that keep the process alive
  Stack stack;

  Reader reader() { return {box, box + boxSize}; }
  Writer writer() { return {box, box + boxSize}; }
  template <class T> std::shared_ptr<T> &item(Table<std::shared_ptr<T>> &table, double ref, const char *what) {
    auto *found = table.get(ref);
    if (!found) throw ArgError(std::string(what) + " that was disposed");
    return *found;
  }
};

inline Bridge *bridge(napi_env env) {
  void *data = nullptr;
  napi_get_instance_data(env, &data);
  return static_cast<Bridge *>(data);
}

inline napi_value makeError(napi_env env, const char *code, const std::string &text, const std::string &where) {
  napi_value error = nullptr, message = nullptr, name = nullptr, line = nullptr;
  napi_create_string_utf8(env, code, NAPI_AUTO_LENGTH, &name);
  napi_create_string_utf8(env, text.data(), text.size(), &message);
  napi_create_error(env, name, message, &error);
  if (!where.empty()) {
    napi_create_string_utf8(env, where.data(), where.size(), &line);
    napi_set_named_property(env, error, "where", line);
  }
  return error;
}

inline napi_value toError(napi_env env, const std::exception_ptr &thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const ArgError &error) {
    return makeError(env, "ERR_ARGUMENT", error.what(), "");
  } catch (const ProgramError &error) {
    return makeError(env, error.memory ? "ERR_MEMORY" : error.argument ? "ERR_ARGUMENT" : "ERR_OPERATOR", error.what(), error.where);
  } catch (const std::exception &error) {
    return makeError(env, outOfMemory(error) ? "ERR_MEMORY" : "ERR_OPERATOR", message(error), "");
  } catch (...) {
    return makeError(env, "ERR_OPERATOR", "an unknown native error", "");
  }
}

constexpr size_t kMaxArgs = 6;
constexpr size_t kMaxMailbox = size_t{1} << 24;

// Named differently before libtorch 2.6.
template <class Context> void initializeCuda(Context &context) {
  if constexpr (requires { context.lazyInitDevice(c10::kCUDA); }) context.lazyInitDevice(c10::kCUDA);
  else context.lazyInitCUDA();
}

struct Call {
  napi_env env;
  Bridge &b;
  size_t count;
  napi_value *values;

  double number(size_t i) const {
    double value = 0;
    if (i >= count || napi_get_value_double(env, values[i], &value) != napi_ok) throw ArgError("argument " + std::to_string(i) + " is not a number");
    return value;
  }
  int integer(size_t i) const {
    const double value = number(i);
    if (!(std::abs(value) < 2147483648.0) || value != static_cast<int>(value)) throw ArgError("argument " + std::to_string(i) + " is not an integer");
    return static_cast<int>(value);
  }
  bool boolean(size_t i) const {
    bool value = false;
    if (i >= count || napi_get_value_bool(env, values[i], &value) != napi_ok) throw ArgError("argument " + std::to_string(i) + " is not a boolean");
    return value;
  }
  std::string text(size_t i) const {
    size_t size = 0;
    if (i >= count || napi_get_value_string_utf8(env, values[i], nullptr, 0, &size) != napi_ok) throw ArgError("argument " + std::to_string(i) + " is not a string");
    std::string value(size, '\0');
    if (napi_get_value_string_utf8(env, values[i], value.data(), size + 1, &size) != napi_ok) throw ArgError("a string cannot be read");
    return value;
  }
  // The bytes of a typed array.
  std::pair<char *, size_t> bytes(size_t i) const {
    bool typed = false;
    if (i >= count || napi_is_typedarray(env, values[i], &typed) != napi_ok || !typed) throw ArgError("argument " + std::to_string(i) + " is not a typed array");
    // A kind of array this Node-API does not know leaves the type as it was.
    auto type = static_cast<napi_typedarray_type>(99);
    size_t length = 0, offset = 0;
    void *data = nullptr;
    napi_value buffer = nullptr;
    napi_get_typedarray_info(env, values[i], &type, &length, &data, &buffer, &offset);
    static const size_t sizes[] = {1, 1, 1, 2, 2, 4, 4, 4, 8, 8, 8, 2};
    const auto index = static_cast<size_t>(type);
    if (index >= std::size(sizes)) throw ArgError("argument " + std::to_string(i) + " is a typed array of an unknown kind");
    return {static_cast<char *>(data), data ? length * sizes[index] : 0};
  }
  const Tensor &tensor(size_t i) const { return b.store.tensor(number(i), "a tensor"); }
  c10::Device device(size_t i) const {
    const int type = integer(i), index = integer(i + 1);
    if (type != 0 && type != 1) throw ArgError("an unknown kind of device");
    if (type == 1 && !at::hasCUDA()) throw ArgError("this libtorch sees no CUDA device");
    if (index < -1 || index > 126) throw ArgError("a device that does not exist");
    if (type == 1) initializeCuda(at::globalContext());  // generators and the allocator exist only after it
    return {static_cast<c10::DeviceType>(type), static_cast<c10::DeviceIndex>(type == 0 ? -1 : index)};
  }
  napi_value out(double value) const {
    napi_value result = nullptr;
    napi_create_double(env, value, &result);
    return result;
  }
  napi_value out(const std::string &value) const {
    napi_value result = nullptr;
    napi_create_string_utf8(env, value.data(), value.size(), &result);
    return result;
  }
  napi_value nothing() const {
    napi_value result = nullptr;
    napi_get_undefined(env, &result);
    return result;
  }
  // The mailbox is the bridge's own memory, so that nothing JavaScript does to the buffer it sees (transfer, detach) takes it
  // away. One that was replaced lives as long as its buffer.
  void growMailbox(size_t size) const {
    if (size <= b.boxSize) return;
    if (size > kMaxMailbox) throw ArgError("a call of more than " + std::to_string(kMaxMailbox) + " values");
    std::shared_ptr<double[]> memory(new double[size]());
    if (b.boxSize) memcpy(memory.get(), b.box, b.boxSize * sizeof(double));
    auto *held = new std::shared_ptr<double[]>(memory);
    const auto drop = [](napi_env, void *, void *hint) { delete static_cast<std::shared_ptr<double[]> *>(hint); };
    napi_value buffer = nullptr, taker = nullptr, receiver = nullptr, ignored = nullptr;
    if (napi_create_external_arraybuffer(env, memory.get(), size * sizeof(double), drop, held, &buffer) != napi_ok) {
      delete held;
      throw ArgError("this runtime does not allow views of native memory");
    }
    if (napi_get_reference_value(env, b.onMailbox, &taker) != napi_ok || napi_get_undefined(env, &receiver) != napi_ok ||
        napi_call_function(env, receiver, taker, 1, &buffer, &ignored) != napi_ok)
      throw ArgError("nobody takes the mailbox");
    b.memory = std::move(memory);
    b.box = b.memory.get();
    b.boxSize = size;
  }
  // Results by the short way: one tensor is its ref; anything else is in the mailbox and the answer is minus their number.
  napi_value results(std::vector<IValue> &&values) const {
    if (values.size() == 1 && values[0].isTensor() && values[0].toTensor().defined()) return out(b.store.tensors.add(std::move(values[0]).toTensor()));
    size_t room = 0;
    for (const IValue &value : values) room += roomFor(value);
    growMailbox(room);
    Writer writer = b.writer();
    for (const IValue &value : values) write(b.store, value, writer);
    return out(-static_cast<double>(values.size()));
  }
};

inline const Op &operatorAt(Call &c, size_t i) {
  const int index = c.integer(i);
  if (index < 0 || static_cast<size_t>(index) >= c.b.ops.size()) throw ArgError("an operator that was not bound");
  return *c.b.ops[index];
}

template <napi_value (*Body)(Call &)> napi_value guarded(napi_env env, napi_callback_info info) {
  size_t count = kMaxArgs;
  napi_value values[kMaxArgs];
  void *data = nullptr;
  napi_get_cb_info(env, info, &count, values, nullptr, &data);
  Call call{env, *static_cast<Bridge *>(data), count, values};
  if (call.count > kMaxArgs) call.count = kMaxArgs;
  try {
    return Body(call);
  } catch (...) {
    bool pending = false;
    napi_is_exception_pending(env, &pending);
    if (!pending) napi_throw(env, toError(env, std::current_exception()));
    return nullptr;
  }
}

template <napi_value (*Body)(Call &)> void define(napi_env env, napi_value exports, const char *name, Bridge *b) {
  napi_value function = nullptr;
  napi_create_function(env, name, NAPI_AUTO_LENGTH, guarded<Body>, b, &function);
  napi_set_named_property(env, exports, name, function);
}

// What each file gives to JavaScript.
void defineOperators(napi_env env, napi_value exports, Bridge *b);
void defineTensors(napi_env env, napi_value exports, Bridge *b);
void defineRecording(napi_env env, napi_value exports, Bridge *b);
void defineRunning(napi_env env, napi_value exports, Bridge *b);
void defineCollectives(napi_env env, napi_value exports, Bridge *b);
void definePulse(napi_env env, napi_value exports, Bridge *b);
void defineMachine(napi_env env, napi_value exports, Bridge *b);
void definePictures(napi_env env, napi_value exports, Bridge *b);
// Runs work on a runner's thread; the promise gives its results, after the handle that `keep` makes of them.
napi_value startOn(Call &c, Runner &runner, std::function<std::vector<IValue>()> work, std::function<double(std::vector<IValue> &)> keep = nullptr);
// On the JavaScript thread, when the runner has done a job: settles its promise.
void settle(napi_env env, napi_value, void *, void *data);

}  // namespace whetstone
