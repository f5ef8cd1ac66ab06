// Operators as JavaScript calls them: the mailbox, binding by name, calls, and what their schemas say.
#include "napi_call.h"

#include <sstream>

namespace whetstone {

namespace {

// Makes the mailbox as large as asked, at least. With a function: it is given this mailbox and every later one.
napi_value mailbox(Call &c) {
  const int size = c.integer(0);
  if (size < 0) throw ArgError("a negative size");
  if (c.count > 1) {
    napi_valuetype type;
    if (napi_typeof(c.env, c.values[1], &type) != napi_ok || type != napi_function) throw ArgError("argument 1 is not a function");
    napi_ref taker = nullptr;
    if (napi_create_reference(c.env, c.values[1], 1, &taker) != napi_ok) throw ArgError("the function cannot be kept");
    if (c.b.onMailbox) napi_delete_reference(c.env, c.b.onMailbox);
    c.b.onMailbox = taker;
  }
  if (!c.b.onMailbox) throw ArgError("nobody takes the mailbox");
  c.growMailbox(std::max<size_t>(size, c.count > 1 ? c.b.boxSize + 1 : 0));
  return c.nothing();
}

// Bound operators are shared by all threads and never freed: a program on any thread may hold one.
const Op *shared(const std::string &name, const std::string &overload, const std::string &names) {
  static std::mutex mutex;
  static auto &ops = *new std::unordered_map<std::string, std::unique_ptr<Op>>();
  std::lock_guard<std::mutex> lock(mutex);
  auto &slot = ops[name + "\n" + overload + "\n" + names];
  if (!slot) slot = std::make_unique<Op>(bindOperator(name, overload, names));
  return slot.get();
}

napi_value bind(Call &c) {
  c.b.ops.push_back(shared(c.text(0), c.text(1), c.text(2)));
  return c.out(static_cast<double>(c.b.ops.size() - 1));
}

napi_value call(Call &c) {
  const Op &op = operatorAt(c, 0);
  Stack &stack = c.b.stack;
  // Whatever happens, the arguments are not held until the next call.
  const struct Clear {
    Stack &stack;
    ~Clear() { stack.clear(); }
  } clear{stack};
  Reader reader = c.b.reader();
  try {
    readArguments(c.b.store, op, reader, stack);
  } catch (const ArgError &error) {
    throw ArgError(op.name + ": " + error.what());
  }
  try {
    op.handle.callBoxed(&stack);
  } catch (const std::exception &error) {
    std::ostringstream text;
    text << op.name << ": " << message(error) << " (";
    stack.clear();
    Reader again = c.b.reader();
    readArguments(c.b.store, op, again, stack);
    for (size_t i = 0; i < stack.size(); ++i) text << (i ? ", " : "") << op.args[i].name << ": " << describe(stack[i]);
    throw ProgramError(text.str() + ")", "", outOfMemory(error), false);
  }
  return op.written >= 0 ? c.out(0) : c.results(std::move(stack));
}

// What a call of a bound operator takes and gives, for callers that do not know it: names and types of its arguments, types
// of its results, and the argument that is its only result (-1: none).
napi_value signature(Call &c) {
  const Op &op = operatorAt(c, 0);
  napi_value result = nullptr, types = nullptr, results = nullptr;
  napi_create_object(c.env, &result);
  napi_create_array(c.env, &types);
  napi_create_array(c.env, &results);
  uint32_t i = 0, j = 0;
  for (const Spec &spec : op.args) napi_set_element(c.env, types, i++, c.out(spec.type));
  for (const c10::Argument &returned : op.handle.schema().returns()) napi_set_element(c.env, results, j++, c.out(returned.real_type()->str()));
  napi_set_named_property(c.env, result, "types", types);
  napi_set_named_property(c.env, result, "results", results);
  napi_set_named_property(c.env, result, "written", c.out(static_cast<double>(op.written)));
  return result;
}

// The names of an operator's arguments, as `bind` takes them.
napi_value argumentNames(Call &c) {
  const auto handle = c10::Dispatcher::singleton().findSchema({c.text(0), c.text(1)});
  if (!handle) throw ArgError("this libtorch has no operator " + c.text(0) + (c.text(1).empty() ? "" : "." + c.text(1)));
  std::string names;
  for (const c10::Argument &argument : handle->schema().arguments()) names += (names.empty() ? "" : ",") + argument.name();
  return c.out(names);
}

napi_value schemas(Call &c) {
  napi_value list = nullptr;
  napi_create_array(c.env, &list);
  uint32_t i = 0;
  for (const auto &name : c10::Dispatcher::singleton().getAllOpNames()) {
    const auto handle = c10::Dispatcher::singleton().findSchema(name);
    if (!handle) continue;
    std::ostringstream text;
    text << handle->schema();
    napi_set_element(c.env, list, i++, c.out(text.str()));
  }
  return list;
}

napi_value intern(Call &c) {
  const std::string text = c.text(0);
  const auto [at, fresh] = c.b.interned.emplace(text, static_cast<double>(c.b.store.strings.size()));
  if (fresh) c.b.store.strings.push_back(text);
  return c.out(at->second);
}

}  // namespace

void defineOperators(napi_env env, napi_value exports, Bridge *b) {
  define<mailbox>(env, exports, "mailbox", b);
  define<bind>(env, exports, "bind", b);
  define<call>(env, exports, "call", b);
  define<signature>(env, exports, "signature", b);
  define<argumentNames>(env, exports, "argumentNames", b);
  define<schemas>(env, exports, "schemas", b);
  define<intern>(env, exports, "intern", b);
}

}  // namespace whetstone
