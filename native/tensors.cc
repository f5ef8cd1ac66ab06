// Tensors in JavaScript's hands: letting go of them, what they are made of, their bytes, their gradients.
#include "napi_call.h"

#include <ATen/ops/empty.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>

#include <cstring>

namespace whetstone {

namespace {

// V8 is told of changes in native memory when they have come to something: telling it costs as much as a small operator.
void tell(Call &c, int64_t bytes) {
  constexpr int64_t kWorthTelling = 1 << 18;
  c.b.untold += bytes;
  if (std::abs(c.b.untold) < kWorthTelling) return;
  int64_t now = 0;
  napi_adjust_external_memory(c.env, c.b.untold, &now);
  c.b.untold = 0;
}

bool drop(Call &c, double ref) {
  const int64_t *told = c.b.store.tensors.told(ref);
  if (!told) return false;
  if (*told) tell(c, -*told);
  return c.b.store.tensors.remove(ref);
}

napi_value release(Call &c) { return c.out(drop(c, c.number(0))); }

napi_value releaseMany(Call &c) {
  const int count = c.integer(0);
  if (count < 0 || static_cast<size_t>(count) > c.b.boxSize) throw ArgError("more refs than the mailbox holds");
  for (int i = 0; i < count; ++i) drop(c, c.b.box[i]);
  return c.nothing();
}

// Tells V8 of the bytes that hang on a tensor it may collect. Leaves the mailbox alone.
napi_value leaveToCollector(Call &c) {
  const Tensor &tensor = c.tensor(0);
  // A view, or a second handle, brings no memory of its own; an expanded tensor has fewer bytes than elements.
  const bool own = tensor.has_storage() && !tensor.is_view() && tensor.use_count() == 1;
  const int64_t bytes = own ? static_cast<int64_t>(tensor.storage().nbytes()) : 0;
  int64_t &told = *c.b.store.tensors.told(c.number(0));
  tell(c, bytes - told);
  told = bytes;
  return c.nothing();
}

napi_value alias(Call &c) { return c.out(c.b.store.tensors.add(c.tensor(0))); }

napi_value meta(Call &c) {
  const Tensor &tensor = c.tensor(0);
  Writer writer = c.b.writer();
  writer.put(static_cast<double>(tensor.scalar_type()));
  writer.put(static_cast<double>(tensor.device().type()));
  writer.put(tensor.device().index());
  writer.put(tensor.requires_grad());
  writer.put(tensor.is_leaf());
  writer.put(tensor.is_contiguous());
  writer.put(static_cast<double>(tensor.itemsize()));
  writer.put(static_cast<double>(tensor.storage_offset()));
  writer.put(static_cast<double>(tensor.dim()));
  for (const int64_t size : tensor.sizes()) writer.put(static_cast<double>(size));
  return c.nothing();
}

napi_value fromBytes(Call &c) {
  const auto [data, size] = c.bytes(0);
  const int dtype = c.integer(1), dims = c.integer(2);
  if (dtype < 0 || dtype >= static_cast<int>(c10::ScalarType::NumOptions)) throw ArgError("an unknown dtype");
  if (dims < 0 || dims > 64 || static_cast<size_t>(dims) > c.b.boxSize) throw ArgError("a tensor has 64 dimensions at most");
  std::vector<int64_t> shape;
  double elements = 1;
  for (int i = 0; i < dims; ++i) {
    if (!(c.b.box[i] >= 0 && c.b.box[i] < 1e15) || c.b.box[i] != std::floor(c.b.box[i])) throw ArgError("a shape is made of whole numbers, got " + std::to_string(c.b.box[i]));
    shape.push_back(static_cast<int64_t>(c.b.box[i]));
    elements *= c.b.box[i];
  }
  const auto type = static_cast<c10::ScalarType>(dtype);
  if (type == c10::ScalarType::Undefined || c10::isQIntType(type)) throw ArgError("an unknown dtype");
  // Before anything is allocated: a wrong shape is the caller's mistake, not a lack of memory.
  const double needed = elements * static_cast<double>(c10::elementSize(type));
  if (needed != static_cast<double>(size)) throw ArgError("the array has " + std::to_string(size) + " bytes, the shape needs " + (needed < 1e15 ? std::to_string(static_cast<int64_t>(needed)) : "more than there are"));
  const Tensor tensor = at::empty(shape, at::TensorOptions(type));
  if (size) memcpy(tensor.data_ptr(), data, size);
  return c.out(c.b.store.tensors.add(tensor));
}

napi_value readInto(Call &c) {
  const Tensor tensor = c.tensor(0).detach().to(c10::kCPU).contiguous().resolve_neg();
  const auto [data, size] = c.bytes(1);
  if (tensor.nbytes() != size) throw ArgError("the array has " + std::to_string(size) + " bytes, the tensor " + std::to_string(tensor.nbytes()));
  const void *source = tensor.const_data_ptr();
  if (size && !source) throw ArgError("a tensor without memory");
  if (size) memcpy(data, source, size);
  return c.nothing();
}

// A view of a CPU tensor's memory; the memory lives at least as long as the view.
napi_value memoryOf(Call &c) {
  const Tensor &tensor = c.tensor(0);
  if (!tensor.device().is_cpu() || tensor.layout() != c10::kStrided || tensor.is_neg() || !tensor.is_contiguous()) throw ArgError("the memory of a tensor is visible only where it is contiguous and on the CPU");
  napi_value buffer = nullptr;
  if (tensor.nbytes() == 0) {
    void *none = nullptr;
    napi_create_arraybuffer(c.env, 0, &none, &buffer);
    return buffer;
  }
  if (!tensor.data_ptr()) throw ArgError("a tensor without memory");
  // A resize would move the memory away from under the view.
  tensor.storage().unsafeGetStorageImpl()->set_resizable(false);
  auto *held = new Tensor(tensor.detach());
  const auto drop = [](napi_env, void *, void *hint) { delete static_cast<Tensor *>(hint); };
  if (napi_create_external_arraybuffer(c.env, held->data_ptr(), held->nbytes(), drop, held, &buffer) != napi_ok) {
    delete held;
    throw ArgError("this runtime does not allow views of native memory");
  }
  return buffer;
}

napi_value setRequiresGrad(Call &c) {
  Tensor tensor = c.tensor(0);
  tensor.set_requires_grad(c.boolean(1));
  return c.nothing();
}

napi_value gradEnabled(Call &c) {
  const bool before = c10::GradMode::is_enabled();
  if (c.count > 0) c10::GradMode::set_enabled(c.boolean(0));
  return c.out(before);
}

// mailbox: outputs, inputs, gradients (each a list of refs); flags: retain, create, allow unused.
napi_value gradients(Call &c) {
  Reader reader = c.b.reader();
  const auto list = [&] {
    torch::autograd::variable_list tensors;
    const double count = reader.next();
    for (int i = 0; i < count; ++i) tensors.push_back(c.b.store.tensor(reader.next(), "a tensor"));
    return tensors;
  };
  const auto outputs = list();
  const auto inputs = list();
  const auto arriving = list();
  std::vector<IValue> found;
  for (const Tensor &gradient : torch::autograd::grad(outputs, inputs, arriving, c.boolean(0), c.boolean(1), true)) found.emplace_back(gradient.defined() ? IValue(gradient) : IValue());
  c.growMailbox(3 * found.size());
  Writer writer = c.b.writer();
  for (const IValue &value : found) write(c.b.store, value, writer);
  return c.out(-static_cast<double>(found.size()));
}

}  // namespace

void defineTensors(napi_env env, napi_value exports, Bridge *b) {
  define<release>(env, exports, "release", b);
  define<releaseMany>(env, exports, "releaseMany", b);
  define<leaveToCollector>(env, exports, "leaveToCollector", b);
  define<alias>(env, exports, "alias", b);
  define<meta>(env, exports, "meta", b);
  define<fromBytes>(env, exports, "fromBytes", b);
  define<readInto>(env, exports, "readInto", b);
  define<memoryOf>(env, exports, "memoryOf", b);
  define<setRequiresGrad>(env, exports, "setRequiresGrad", b);
  define<gradEnabled>(env, exports, "gradEnabled", b);
  define<gradients>(env, exports, "gradients", b);
}

}  // namespace whetstone
