#include "values.h"

#include <ATen/core/jit_type.h>

#include <cmath>
#include <sstream>

namespace whetstone {

namespace {

constexpr double kSafe = 9007199254740991.0;
constexpr double kLastTag = static_cast<int>(SLOT);

Kind kindOf(const c10::Type &type) {
  switch (type.kind()) {
    case c10::TypeKind::TensorType: return Kind::Tensor;
    case c10::TypeKind::IntType: case c10::TypeKind::SymIntType: case c10::TypeKind::ScalarTypeType:
    case c10::TypeKind::LayoutType: case c10::TypeKind::MemoryFormatType: return Kind::Int;
    case c10::TypeKind::FloatType: return Kind::Float;
    case c10::TypeKind::BoolType: return Kind::Bool;
    case c10::TypeKind::NumberType: return Kind::Scalar;
    case c10::TypeKind::StringType: return Kind::String;
    case c10::TypeKind::DeviceObjType: return Kind::Device;
    case c10::TypeKind::GeneratorType: return Kind::Generator;
    default: return Kind::Other;
  }
}

// How many values an enumeration has; 0 for what is a plain integer.
int64_t limitOf(const c10::Type &type) {
  switch (type.kind()) {
    case c10::TypeKind::OptionalType: return limitOf(*type.expectRef<c10::OptionalType>().getElementType());
    case c10::TypeKind::ListType: return limitOf(*type.expectRef<c10::ListType>().getElementType());
    case c10::TypeKind::ScalarTypeType: return static_cast<int64_t>(c10::ScalarType::NumOptions);
    case c10::TypeKind::LayoutType: return static_cast<int64_t>(c10::Layout::NumOptions);
    case c10::TypeKind::MemoryFormatType: return static_cast<int64_t>(c10::MemoryFormat::NumOptions);
    case c10::TypeKind::QSchemeType: return c10::COMPILE_TIME_NUM_QSCHEMES;
    default: return 0;
  }
}

const char *tagName(int tag) {
  static const char *names[] = {"nothing", "null", "a tensor", "a number", "a boolean", "a string", "a list", "a bigint", "a generator", "a device", "a recorded value"};
  return tag >= 0 && tag <= SLOT ? names[tag] : "an unknown value";
}

int readTag(Reader &reader) {
  const double tag = reader.next();
  if (!(tag >= 0 && tag <= kLastTag) || tag != static_cast<int>(tag)) throw ArgError("the call is not well formed");
  return static_cast<int>(tag);
}

size_t readCount(Reader &reader) {
  const double count = reader.next();
  if (!(count >= 0) || count > static_cast<double>(reader.end - reader.at)) throw ArgError("a list is longer than the call");
  return static_cast<size_t>(count);
}

// By way of an integer: std::floor is a call into libm where the compiler may not assume SSE 4.1.
bool integral(double number) { return std::abs(number) <= kSafe && number == static_cast<double>(static_cast<int64_t>(number)); }

int64_t big(Reader &reader) {
  const double high = reader.next(), low = reader.next();
  if (!(high >= -2147483648.0 && high <= 2147483647.0 && low >= 0 && low <= 4294967295.0)) throw ArgError("an integer does not fit into 64 bits");
  return static_cast<int64_t>((static_cast<uint64_t>(static_cast<int64_t>(high)) << 32) | static_cast<uint64_t>(low));
}

// One value that is not a list, whatever is expected of it.
IValue readPlain(Store &store, int tag, Reader &reader) {
  switch (tag) {
    case NONE: return IValue();
    case TENSOR: return store.tensor(reader.next(), "a tensor");
    case NUMBER: {
      const double number = reader.next();
      // -0 is not an integer here: the sign would be lost.
      if (integral(number) && !(number == 0 && std::signbit(number))) return static_cast<int64_t>(number);
      return number;
    }
    case BIGINT: return big(reader);
    case BOOL: return reader.next() != 0;
    case STRING: {
      const double id = reader.next();
      if (!(id >= 0 && id < static_cast<double>(store.strings.size()))) throw ArgError("an unknown string");
      return store.strings[static_cast<size_t>(id)];
    }
    case GENERATOR: {
      at::Generator *generator = store.generators.get(reader.next());
      if (!generator) throw ArgError("a generator that was disposed");
      return *generator;
    }
    case DEVICE: {
      const double type = reader.next(), index = reader.next();
      if ((type != 0 && type != 1) || !(index >= -1 && index < 127)) throw ArgError("a device that does not exist");
      return c10::Device(static_cast<c10::DeviceType>(static_cast<int>(type)), static_cast<c10::DeviceIndex>(index));
    }
    default: throw ArgError(std::string("cannot take ") + tagName(tag) + " here");
  }
}

// `value` as the kind the schema wants, or an error that says what came instead.
IValue convert(IValue value, const Spec &spec, Kind kind) {
  switch (kind) {
    case Kind::Tensor: if (value.isTensor()) return value; break;
    case Kind::Int:
      if (!value.isInt()) break;
      if (spec.limit && (value.toInt() < 0 || value.toInt() >= spec.limit || (spec.type.rfind("ScalarType", 0) == 0 && value.toInt() == static_cast<int64_t>(c10::ScalarType::Undefined)))) break;
      return value;
    case Kind::Float: if (value.isDouble()) return value; if (value.isInt()) return static_cast<double>(value.toInt()); break;
    case Kind::Bool: if (value.isBool()) return value; break;
    case Kind::Scalar: if (value.isInt() || value.isDouble() || value.isBool()) return value; break;
    case Kind::String: if (value.isString()) return value; break;
    case Kind::Device: if (value.isDevice()) return value; break;
    case Kind::Generator: if (value.isGenerator()) return value; break;
    case Kind::Tensors: break;  // never a schema's own
    case Kind::Other: throw ArgError("argument '" + spec.name + "' is a " + spec.type + ", which cannot be passed from JavaScript");
  }
  throw ArgError("argument '" + spec.name + "' expects " + spec.type + ", got " + describe(value));
}

template <class T, class F> IValue readList(size_t count, F &&each) {
  c10::List<T> list;
  list.reserve(count);
  for (size_t i = 0; i < count; ++i) list.push_back(each());
  return list;
}

IValue readOne(Store &store, const Spec &spec, Reader &reader) {
  int tag = readTag(reader);
  if (tag == DEFAULT) {
    if (spec.fallback) return *spec.fallback;
    throw ArgError("argument '" + spec.name + "' (" + spec.type + ") is missing");
  }
  if (tag == NONE) {
    if (spec.optional) return IValue();
    throw ArgError("argument '" + spec.name + "' expects " + spec.type + ", got null");
  }
  try {
    if (!spec.list) {
      if (tag == LIST) throw ArgError("a list");
      return convert(readPlain(store, tag, reader), spec, spec.kind);
    }
    size_t count = 1, times = 1;
    bool single = false;
    if (tag == LIST) count = readCount(reader);
    else if (spec.length > 0) { single = true; times = spec.length; }
    else throw ArgError(tagName(tag));
    const auto element = [&] { return convert(readPlain(store, single ? tag : readTag(reader), reader), spec, spec.kind); };
    // Many kernels read as many items as the schema says, unchecked. One item stands for all of them, as a number does; int[1]
    // only says that a number will do.
    if (!single && spec.length > 1 && count != static_cast<size_t>(spec.length)) {
      if (count == 1 && spec.kind == Kind::Int) {
        single = true;
        times = spec.length;
        tag = readTag(reader);
      } else if (count != 0 || !spec.fallback || !spec.fallback->isList() || !spec.fallback->toListRef().empty()) {
        throw ArgError("argument '" + spec.name + "' expects " + spec.type + " of " + std::to_string(spec.length) + " items, got " + std::to_string(count));
      }
    }
    if (single) {  // int[2]=3 means 3 in both places
      if (spec.kind != Kind::Int) throw ArgError(tagName(tag));
      const int64_t number = element().toInt();
      return readList<int64_t>(times, [&] { return number; });
    }
    switch (spec.kind) {
      case Kind::Int:
        return readList<int64_t>(count, [&] {
          // Almost every list is of sizes: plain whole numbers need no IValue on the way.
          if (!spec.limit && reader.end - reader.at >= 2 && reader.at[0] == static_cast<double>(NUMBER) && integral(reader.at[1]) && !std::signbit(reader.at[1])) {
            const auto number = static_cast<int64_t>(reader.at[1]);
            reader.at += 2;
            return number;
          }
          return element().toInt();
        });
      case Kind::Float: return readList<double>(count, [&] { return element().toDouble(); });
      case Kind::Bool: return readList<bool>(count, [&] { return element().toBool(); });
      case Kind::Scalar:
        if (!spec.elementOptional) return readList<at::Scalar>(count, [&] { return element().toScalar(); });
        return readList<std::optional<at::Scalar>>(count, [&]() -> std::optional<at::Scalar> {
          const int inner = readTag(reader);
          if (inner == NONE) return std::nullopt;
          return convert(readPlain(store, inner, reader), spec, spec.kind).toScalar();
        });
      case Kind::Tensor:
        if (!spec.elementOptional) return readList<Tensor>(count, [&] { return element().toTensor(); });
        return readList<std::optional<Tensor>>(count, [&]() -> std::optional<Tensor> {
          const int inner = readTag(reader);
          if (inner == NONE) return std::nullopt;
          return convert(readPlain(store, inner, reader), spec, spec.kind).toTensor();
        });
      default: throw ArgError("argument '" + spec.name + "' is a " + spec.type + ", which cannot be passed from JavaScript");
    }
  } catch (const ArgError &error) {
    const std::string text = error.what();
    if (text.rfind("argument '", 0) == 0) throw;
    throw ArgError("argument '" + spec.name + "' expects " + spec.type + ", got " + text);
  }
}

bool holdsSlot(Reader reader) {
  const int tag = readTag(reader);
  if (tag == SLOT) return true;
  if (tag != LIST) return false;
  for (size_t count = readCount(reader); count > 0; --count) {
    const int inner = readTag(reader);
    if (inner == SLOT) return true;
    if (inner == LIST) return false;  // refused where it is read
    if (inner == BIGINT || inner == DEVICE) reader.next();
    if (inner != NONE && inner != DEFAULT) reader.next();
  }
  return false;
}

int readSlot(const Recording &recording, Reader &reader) {
  const double ref = reader.next();
  const auto bits = ref > 0 && ref < 9.0e15 ? static_cast<uint64_t>(ref) : 0;
  const auto slot = static_cast<int>(bits & 0xffffff);
  if (static_cast<int>(bits >> 24) != recording.id || slot >= recording.program->slots)
    throw ArgError("a value recorded elsewhere; pass it as an input instead");
  return slot;
}

void capture(Recording &recording, const IValue &value) {
  if (value.isTensor()) {
    const Tensor &tensor = value.toTensor();
    if (tensor.defined() && recording.seen.emplace(tensor.unsafeGetTensorImpl(), true).second) recording.program->captured.push_back(tensor);
  } else if (value.isList()) {
    for (const IValue &item : value.toListRef()) capture(recording, item);
  }
}

}  // namespace

const Tensor &Store::tensor(double ref, const char *what) {
  const Tensor *tensor = tensors.get(ref);
  if (!tensor) throw ArgError(std::string(what) + " that was disposed");
  return *tensor;
}

Op bindOperator(const std::string &name, const std::string &overload, const std::string &names) {
  auto handle = c10::Dispatcher::singleton().findSchema({name, overload});
  const std::string full = name + (overload.empty() ? "" : "." + overload);
  if (!handle) throw ArgError("this libtorch has no operator " + full);
  // Reads its list of states without asking how many there are: two too few end the process.
  if (name == "aten::quantized_lstm_cell") throw ArgError(full + " does not check its arguments and cannot be called");
  const auto &returns = handle->schema().returns();
  int written = -1;
  const auto &arguments = handle->schema().arguments();
  if (returns.size() == 1 && returns[0].alias_info() && returns[0].alias_info()->isWrite())
    for (size_t i = 0; i < arguments.size(); ++i)
      if (arguments[i].alias_info() && arguments[i].alias_info()->isWrite() && arguments[i].alias_info()->beforeSets() == returns[0].alias_info()->beforeSets()) written = static_cast<int>(i);
  Op op{*handle, full, {}, 0, true, handle->hasTag(at::Tag::nondeterministic_seeded), written};
  std::vector<std::string> passed;
  std::stringstream list(names);
  for (std::string item; std::getline(list, item, ',');) passed.push_back(item);
  op.passed = static_cast<int>(passed.size());
  for (const c10::Argument &argument : arguments) {
    Spec spec;
    spec.name = argument.name();
    spec.type = argument.real_type()->str();
    spec.length = argument.N().value_or(0);
    c10::TypePtr type = argument.type();
    if (auto optional = type->cast<c10::OptionalType>()) {
      spec.optional = true;
      type = optional->getElementType();
    }
    if (auto list = type->cast<c10::ListType>()) {
      spec.list = true;
      type = list->getElementType();
      if (auto optional = type->cast<c10::OptionalType>()) {
        spec.elementOptional = true;
        type = optional->getElementType();
      }
    }
    spec.kind = kindOf(*type);
    spec.limit = limitOf(*argument.real_type());
    if (argument.default_value()) spec.fallback = *argument.default_value();
    for (size_t i = 0; i < passed.size(); ++i)
      if (passed[i] == spec.name) spec.position = static_cast<int>(i);
    op.direct = op.direct && spec.position == static_cast<int>(op.args.size());
    op.args.push_back(std::move(spec));
  }
  op.direct = op.direct && op.args.size() == passed.size();
  return op;
}

// Where the libtorch found orders or names arguments otherwise than the one the typed methods were made from, the values
// are matched by name; one that this libtorch does not know must have been left out.
static std::vector<Reader> positions(const Op &op, Reader &reader) {
  std::vector<Reader> found;
  for (int i = 0; i < op.passed; ++i) {
    found.push_back(reader);
    const auto skip = [&](int tag) {
      if (tag == LIST) throw ArgError("a list inside a list");
      if (tag == BIGINT || tag == DEVICE) reader.next();
      if (tag != NONE && tag != DEFAULT) reader.next();
    };
    const int tag = readTag(reader);
    if (tag != LIST) skip(tag);
    else for (size_t count = readCount(reader); count > 0; --count) skip(readTag(reader));
    bool known = false;
    for (const Spec &spec : op.args) known = known || spec.position == i;
    if (!known && *found.back().at != 0) throw ArgError("value " + std::to_string(i) + " is not an argument of this libtorch's " + op.name);
  }
  return found;
}

void readArguments(Store &store, const Op &op, Reader &reader, Stack &stack) {
  if (op.direct) {
    for (const Spec &spec : op.args) stack.push_back(readOne(store, spec, reader));
    return;
  }
  std::vector<Reader> found = positions(op, reader);
  static const double absent[] = {DEFAULT};
  for (const Spec &spec : op.args) {
    Reader none{absent, absent + 1};
    stack.push_back(readOne(store, spec, spec.position < 0 ? none : found[spec.position]));
  }
}

static Arg readRecordedOne(Store &store, Recording &recording, const Spec &spec, Reader &reader) {
  Arg arg;
  if (!holdsSlot(reader)) {
    arg.value = readOne(store, spec, reader);
    capture(recording, arg.value);
    return arg;
  }
  arg.expects = {spec.kind};
  const bool numeric = spec.kind == Kind::Tensor || spec.kind == Kind::Int || spec.kind == Kind::Float || spec.kind == Kind::Scalar || spec.kind == Kind::Bool;
  if (!numeric || spec.limit) throw ArgError("argument '" + spec.name + "' expects " + spec.type + ", got a recorded value");
  const int tag = readTag(reader);
  if (tag == SLOT) {
    const int slot = readSlot(recording, reader);
    if (!spec.list) {
      arg.slot = slot;
      return arg;
    }
    if (spec.kind == Kind::Tensor && !spec.elementOptional) {  // a whole recorded list
      arg.slot = slot;
      arg.expects = {Kind::Tensors};
      return arg;
    }
    if (spec.kind != Kind::Int || spec.length <= 0) throw ArgError("argument '" + spec.name + "' expects " + spec.type + ", got a recorded value");
    arg.mixed = true;  // int[2]=n means n in both places
    Arg item;
    item.slot = slot;
    item.expects = {Kind::Int};
    arg.items.assign(spec.length, item);
    return arg;
  }
  if (!spec.list) throw ArgError("argument '" + spec.name + "' expects " + spec.type + ", got a list");
  arg.mixed = true;
  if (spec.elementOptional) arg.value = true;  // tells resolve() that null is a value here
  const size_t length = readCount(reader);
  if (spec.length > 1 && length != static_cast<size_t>(spec.length))
    throw ArgError("argument '" + spec.name + "' expects " + spec.type + " of " + std::to_string(spec.length) + " items, got " + std::to_string(length));
  Spec element = spec;
  element.list = false;
  element.optional = spec.elementOptional;
  element.fallback.reset();
  for (size_t count = length; count > 0; --count) arg.items.push_back(readRecordedOne(store, recording, element, reader));
  return arg;
}

std::vector<Arg> readRecorded(Store &store, Recording &recording, const Op &op, Reader &reader) {
  std::vector<Arg> args;
  std::vector<Reader> found;
  if (!op.direct) found = positions(op, reader);
  static const double absent[] = {DEFAULT};
  for (const Spec &spec : op.args) {
    Reader none{absent, absent + 1};
    args.push_back(readRecordedOne(store, recording, spec, op.direct ? reader : spec.position < 0 ? none : found[spec.position]));
  }
  return args;
}

Arg readFree(Store &store, Recording *recording, Reader &reader) {
  Arg arg;
  const int tag = readTag(reader);
  if (tag == SLOT) {
    if (!recording) throw ArgError("a recorded value outside its recording");
    arg.slot = readSlot(*recording, reader);
    return arg;
  }
  if (tag == DEFAULT) return arg;
  arg.value = readPlain(store, tag, reader);
  if (recording) capture(*recording, arg.value);
  return arg;
}

size_t roomFor(const IValue &value) {
  if (!value.isList()) return 3;
  size_t room = 2;
  for (const IValue &item : value.toListRef()) room += roomFor(item);
  return room;
}

void write(Store &store, const IValue &value, Writer &writer) {
  if (value.isTensor()) {
    if (!value.toTensor().defined()) return writer.put(NONE);
    writer.put(TENSOR);
    writer.put(store.tensors.add(value.toTensor()));
  } else if (value.isInt()) {
    const int64_t number = value.toInt();
    if (std::abs(static_cast<double>(number)) <= kSafe) {
      writer.put(NUMBER);
      writer.put(static_cast<double>(number));
    } else {
      writer.put(BIGINT);
      writer.put(static_cast<double>(number >> 32));
      writer.put(static_cast<double>(number & 0xffffffff));
    }
  } else if (value.isDouble()) {
    writer.put(NUMBER);
    writer.put(value.toDouble());
  } else if (value.isBool()) {
    writer.put(BOOL);
    writer.put(value.toBool());
  } else if (value.isNone()) {
    writer.put(NONE);
  } else if (value.isList()) {
    const auto list = value.toListRef();
    writer.put(LIST);
    writer.put(static_cast<double>(list.size()));
    for (const IValue &item : list) write(store, item, writer);
  } else {
    throw ArgError("the result is " + std::string(value.tagKind()) + ", which cannot be handed to JavaScript");
  }
}

}  // namespace whetstone
