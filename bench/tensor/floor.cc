// libtorch alone: operators called boxed from a C++ loop, as the bridge calls them and with nothing around it.
// Reads the name of a measurement per line, answers with the seconds of one call as a line of JSON.
#include <ATen/Parallel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

using at::Tensor;
using c10::IValue;
using torch::jit::Stack;
using Clock = std::chrono::steady_clock;

static double seconds(Clock::time_point since) { return std::chrono::duration<double>(Clock::now() - since).count(); }

// As `time` of bench/harness.mjs.
template <class F> double measure(F &&work, double length = 0.1) {
  const auto batch = [&](int count) {
    const auto start = Clock::now();
    for (int i = 0; i < count; ++i) work();
    return seconds(start);
  };
  int count = 1;
  while (batch(count) < 0.002 && count < 1000000) count *= 2;
  std::vector<double> found;
  for (const auto start = Clock::now(); seconds(start) < length || found.size() < 5;) found.push_back(batch(count) / count);
  std::sort(found.begin(), found.end());
  return found[found.size() / 2];
}

static c10::OperatorHandle find(const char *name, const char *overload) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, overload);
}

int main() {
  at::set_num_threads(2);
  const auto add = find("aten::add", "Tensor"), view = find("aten::view", ""), matmul = find("aten::matmul", "");
  const int links = 1000;
  Stack stack;
  const auto call = [&](const c10::OperatorHandle &op, auto &&...args) {
    stack.clear();
    (stack.emplace_back(args), ...);
    op.callBoxed(&stack);
  };
  for (std::string name; std::getline(std::cin, name);) {
    const bool grad = name.find("+grad") != std::string::npos;
    const Tensor a = at::ones({2, 3}).set_requires_grad(grad), b = at::ones({2, 3});
    const IValue first(a), second(b), one(1), shape(std::vector<int64_t>{3, 2});
    double result = -1;
    if (name.rfind("add chain", 0) == 0)
      result = measure([&] {
                 IValue x = first;
                 for (int i = 0; i < links; ++i) {
                   call(add, x, second, one);
                   x = std::move(stack[0]);
                 }
               }) / links;
    else if (name.rfind("view chain", 0) == 0)
      result = measure([&] {
                 IValue x = first;
                 for (int i = 0; i < links; ++i) {
                   call(view, x, shape);
                   x = std::move(stack[0]);
                 }
               }) / links;
    else if (name.rfind("add", 0) == 0) result = measure([&] { call(add, first, second, one); });
    else if (name.rfind("view", 0) == 0) result = measure([&] { call(view, first, shape); });
    else if (name == "matmul") {
      const IValue x(at::randn({1024, 1024})), y(at::randn({1024, 1024}));
      result = measure([&] { call(matmul, x, y); }, 0.2);
    }
    stack.clear();
    if (result < 0) std::puts("null");
    else std::printf("%.17g\n", result);
    std::fflush(stdout);
  }
}
