// The bridge's vocabulary: what a JavaScript call looks like in native memory, and what runs it.
//
// JavaScript and C++ share one buffer of doubles, the mailbox. A caller writes tagged values into it, makes one Node-API
// call, and reads tagged results back. Tensors cross as integers: `ref = generation * 2^24 + slot`, so a ref that outlived
// its tensor is recognised instead of followed.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace whetstone {

using at::Tensor;
using c10::IValue;
using torch::jit::Stack;

enum Tag : int { DEFAULT, NONE, TENSOR, NUMBER, BOOL, STRING, LIST, BIGINT, GENERATOR, DEVICE, SLOT };

// A caller's mistake (wrong type, wrong arity, disposed tensor), as opposed to an operator's refusal.
struct ArgError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class Kind : uint8_t { Tensor, Tensors, Int, Float, Bool, Scalar, String, Device, Generator, Other };

// One argument of an operator, read off its schema once.
struct Spec {
  std::string name, type;
  Kind kind = Kind::Other;
  bool list = false, optional = false, elementOptional = false;
  int32_t length = 0;             // of a fixed-length list such as int[2]
  int64_t limit = 0;              // of an enumeration such as a dtype, which libtorch uses as an index unchecked
  std::optional<IValue> fallback;  // the schema's default
  int position = -1;              // among the values the caller passes; -1: the caller does not know this argument
};

struct Op {
  c10::OperatorHandle handle;
  std::string name;
  std::vector<Spec> args;
  int passed;    // how many values the caller passes
  bool direct;   // the caller's order is the schema's
  bool random;   // draws from a generator
  int written;   // the argument that is its only result, which the caller already has; -1: results are new
};

struct Reader {
  const double *at, *end;
  double next() {
    if (at >= end) throw ArgError("the call is cut short");
    return *at++;
  }
};

// Values that live in a table and are named by an integer with a generation in it.
template <class T> class Table {
  struct Cell {
    T value{};
    int64_t told = 0;
    uint32_t generation = 1;
    bool used = false;
  };
  std::vector<Cell> cells_;
  std::vector<uint32_t> free_;
  static constexpr double kStride = 16777216.0;

  Cell *find(double ref) {
    if (!(ref > 0) || ref > 9.0e15) return nullptr;
    const auto bits = static_cast<uint64_t>(ref);
    const auto index = bits & 0xffffff;
    if (static_cast<double>(bits) != ref || index >= cells_.size()) return nullptr;
    Cell &cell = cells_[index];
    return cell.used && cell.generation == static_cast<uint32_t>(bits >> 24) ? &cell : nullptr;
  }

public:
  size_t live = 0, peak = 0;

  double add(T value) {
    uint32_t index;
    if (free_.empty()) {
      if (cells_.size() >= 0xffffff) throw ArgError("more than 16 million live handles");
      index = static_cast<uint32_t>(cells_.size());
      cells_.emplace_back();
    } else {
      index = free_.back();
      free_.pop_back();
    }
    Cell &cell = cells_[index];
    cell.value = std::move(value);
    cell.used = true;
    if (++live > peak) peak = live;
    return cell.generation * kStride + index;
  }
  T *get(double ref) {
    Cell *cell = find(ref);
    return cell ? &cell->value : nullptr;
  }
  // Bytes the garbage collector was told of; null where there is no such value.
  int64_t *told(double ref) {
    Cell *cell = find(ref);
    return cell ? &cell->told : nullptr;
  }
  bool remove(double ref) {
    Cell *cell = find(ref);
    if (!cell) return false;
    T dying = std::move(cell->value);  // destroyed last: a destructor may come back to this table
    cell->value = T{};
    cell->used = false;
    cell->told = 0;
    cell->generation = cell->generation == 0x1fffffff ? 1 : cell->generation + 1;
    free_.push_back(static_cast<uint32_t>(cell - cells_.data()));
    --live;
    return true;
  }
};

// An argument of a recorded instruction: a value, a slot filled at run time, or a list that contains slots.
struct Arg {
  IValue value;
  int slot = -1;
  std::vector<Arg> items;
  bool mixed = false;
  std::vector<Kind> expects;  // one entry: what the operator's schema asks for
};

enum class Code : int { Call, Size, Arith, Backward, Gradient, GradMode, Item, Kernel, Custom, Checkpoint, SetGradient };

struct Program;
struct Kernel;

struct Instruction {
  Code code = Code::Call;
  const Op *op = nullptr;
  std::vector<Arg> args;
  std::vector<int> results, dies;
  std::string where;  // the line that recorded it
  std::shared_ptr<Program> first, second;
  std::shared_ptr<Kernel> kernel;
};

struct Program {
  std::vector<Instruction> code;
  std::vector<int> inputs, outputs;
  std::vector<Tensor> captured;  // tensors of the outside that it reads, in order of first use
  int slots = 0;
  std::vector<at::Generator> generators;  // of the outside that it draws from
  bool random = false;
};

// Thrown by a running program; carries where it was recorded.
struct ProgramError : std::runtime_error {
  std::string where;
  bool memory, argument;
  ProgramError(const std::string &what, std::string line, bool memory, bool argument)
      : std::runtime_error(what), where(std::move(line)), memory(memory), argument(argument) {}
};

std::vector<IValue> execute(const Program &program, std::vector<IValue> inputs);
// When set and true, programs on this thread stop before their next instruction.
extern thread_local const std::atomic<bool> *interrupted;
std::vector<IValue> perform(const Instruction &instruction, const std::vector<IValue> &slots);
void finish(Program &program);  // decides where each slot dies
std::string describe(const IValue &value);
std::string message(const std::exception &error);
bool outOfMemory(const std::exception &error);
inline int64_t integer(const IValue &value) {
  if (value.isInt()) return value.toInt();
  throw ArgError("expected an integer, got " + describe(value));
}

// The instructions that run programs of their own. args of a custom function: the number of outputs, then its inputs; the
// forward program's outputs are followed by what it saves.
std::vector<IValue> custom(const Instruction &in, std::vector<IValue> args);
std::vector<IValue> checkpoint(const Instruction &in, std::vector<IValue> inputs);

std::shared_ptr<Kernel> makeKernel(std::string source, std::string file, std::string entry, std::string params, std::string cachePath);
void launch(Kernel &kernel, const std::vector<IValue> &args);
struct CudaDevice {
  std::string name;
  double bytes;
  int major, minor, multiprocessors;
};
std::vector<CudaDevice> cudaDevices();

// What needs CUDA's own headers; throws where the bridge was built without them.
struct Graph;
std::shared_ptr<Graph> captureGraph(const Program &program, const std::vector<IValue> &inputs, int warmups, const std::shared_ptr<Graph> &beside, std::vector<IValue> &outputs);
void replayGraph(Graph &graph);
bool cudaGraphsBuilt();
// bytes now, peak bytes, reserved bytes
std::array<double, 3> cudaMemory(int device, bool resetPeak);
// Bytes that this process can still take; negative where the bridge was built without CUDA's headers.
double cudaFreeMemory(int device);

}  // namespace whetstone
