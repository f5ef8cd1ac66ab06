// Operators of one step of generation on the CPU: rows of any sequences, attention over keys and values in blocks of a
// shared cache. Composed of ATen's operators a step would copy every sequence's keys and values; these read them in place.
// They know no gradients.
#include "single_load.h"
#include "cpu.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <cstring>
#include <tuple>
#include <vector>

#pragma GCC diagnostic ignored "-Wpsabi"  // vectors are passed inside this file only

namespace whetstone {
namespace {

using at::Tensor;

constexpr int64_t kBlock = 16;

struct Rotate {
  const void *qkv;
  const float *cos, *sin;
  const int32_t *positions, *slotMapping;
  void *queries, *keys, *values;
  int64_t heads, kvHeads, headDim;
};

struct Attend {
  const void *queries, *keys, *values;
  const int32_t *blockTable, *sequences, *positions;
  void *out;
  int64_t heads, kvHeads, headDim, tableWidth;
  float scale;
};

#define KERNELS "decode-kernels.h"
#include "instruction-sets.h"

struct Kernels {
  decltype(&portable::f32::addNormRow) addNorm;
  decltype(&portable::f32::swigluRow) swiglu;
  decltype(&portable::f32::rotateStoreRow) rotateStore;
  decltype(&portable::f32::attendRow) attend;
};
#define WHETSTONE_SET(space) Kernels{space::addNormRow, space::swigluRow, space::rotateStoreRow, space::attendRow}

Kernels kernelsFor(const Tensor &tensor, const char *what) {
  const auto type = tensor.scalar_type();
  TORCH_CHECK(type == at::kFloat || type == at::kBFloat16, what, ": float32 or bfloat16 expected, got ", type);
  if (type == at::kFloat) return wideVectors() ? WHETSTONE_SET(wide::f32) : WHETSTONE_SET(portable::f32);
  return wideVectors() ? WHETSTONE_SET(wide::bf16) : WHETSTONE_SET(portable::bf16);
}

void checkDense(const Tensor &tensor, const char *name, int64_t dims) {
  TORCH_CHECK(tensor.device().is_cpu() && tensor.is_contiguous() && tensor.dim() == dims, name, ": a contiguous tensor of ", dims, " dimensions on the CPU expected, got ", tensor.sizes());
}

const int32_t *indices(const Tensor &tensor, const char *name, int64_t count, int64_t from, int64_t to) {
  TORCH_CHECK(tensor.device().is_cpu() && tensor.is_contiguous() && tensor.scalar_type() == at::kInt && tensor.numel() == count, name, ": ", count, " contiguous int32 on the CPU expected");
  const auto *data = tensor.const_data_ptr<int32_t>();
  for (int64_t i = 0; i < count; ++i) TORCH_CHECK(data[i] >= from && data[i] < to, name, '[', i, "] is ", data[i], ", expected at least ", from, " and below ", to);
  return data;
}

// The cache is [2, blocks, kvHeads, 16 * headDim]: keys, then values. A key block has its dimensions apart.
struct Cache {
  const Tensor &tensor;
  int64_t blocks, kvHeads, headDim;
  explicit Cache(const Tensor &cache, const Tensor &like) : tensor(cache), blocks(0), kvHeads(0), headDim(0) {
    checkDense(cache, "cache", 4);
    TORCH_CHECK(cache.scalar_type() == like.scalar_type(), "cache: ", like.scalar_type(), " expected, got ", cache.scalar_type());
    TORCH_CHECK(cache.size(0) == 2 && cache.size(3) % kBlock == 0, "cache: [2, blocks, kvHeads, 16 * headDim] expected, got ", cache.sizes());
    blocks = cache.size(1);
    kvHeads = cache.size(2);
    headDim = cache.size(3) / kBlock;
    TORCH_CHECK(headDim % 2 == 0 && headDim > 0, "cache: an even head dimension expected, got ", headDim);
  }
  char *keys() const { return static_cast<char *>(tensor.mutable_data_ptr()); }
  char *values() const { return keys() + tensor.numel() / 2 * tensor.element_size(); }
};

std::tuple<Tensor, Tensor> addRmsNorm(const Tensor &x, const Tensor &residual, const Tensor &weight, double eps) {
  checkDense(x, "x", 2);
  checkDense(residual, "residual", 2);
  checkDense(weight, "weight", 1);
  TORCH_CHECK(x.sizes() == residual.sizes() && weight.size(0) == x.size(1), "x, residual and weight do not fit");
  TORCH_CHECK(x.scalar_type() == residual.scalar_type() && x.scalar_type() == weight.scalar_type(), "x, residual and weight are of one dtype");
  const Kernels kernels = kernelsFor(x, "add_rms_norm");
  Tensor normed = at::empty_like(x), sum = at::empty_like(x);
  const int64_t width = x.size(1);
  const void *xs = x.const_data_ptr(), *residuals = residual.const_data_ptr(), *weights = weight.const_data_ptr();
  void *normeds = normed.mutable_data_ptr(), *sums = sum.mutable_data_ptr();
  parallel(x.size(0), 2 * width, [&](int64_t row) { kernels.addNorm(xs, residuals, weights, normeds, sums, row, width, static_cast<float>(eps)); });
  return {normed, sum};
}

Tensor rmsNorm(const Tensor &x, const Tensor &weight, double eps) {
  checkDense(x, "x", 2);
  checkDense(weight, "weight", 1);
  TORCH_CHECK(weight.size(0) == x.size(1) && weight.scalar_type() == x.scalar_type(), "x and weight do not fit");
  const Kernels kernels = kernelsFor(x, "rms_norm");
  Tensor normed = at::empty_like(x);
  const int64_t width = x.size(1);
  const void *xs = x.const_data_ptr(), *weights = weight.const_data_ptr();
  void *normeds = normed.mutable_data_ptr();
  parallel(x.size(0), 2 * width, [&](int64_t row) { kernels.addNorm(xs, nullptr, weights, normeds, nullptr, row, width, static_cast<float>(eps)); });
  return normed;
}

Tensor swiglu(const Tensor &gateUp) {
  checkDense(gateUp, "gate_up", 2);
  TORCH_CHECK(gateUp.size(1) % 2 == 0, "gate_up: an even width expected");
  const Kernels kernels = kernelsFor(gateUp, "swiglu");
  const int64_t rows = gateUp.size(0), width = gateUp.size(1) / 2;
  Tensor out = at::empty({rows, width}, gateUp.options());
  const void *from = gateUp.const_data_ptr();
  void *to = out.mutable_data_ptr();
  parallel(rows, 16 * width, [&](int64_t row) { kernels.swiglu(from, to, row, width); });
  return out;
}

Tensor rotateStore(const Tensor &qkv, const Tensor &cos, const Tensor &sin, const Tensor &positions, const Tensor &slotMapping, const Tensor &cache) {
  checkDense(qkv, "qkv", 2);
  checkDense(cos, "cos", 2);
  checkDense(sin, "sin", 2);
  const Cache kv(cache, qkv);
  const int64_t rows = qkv.size(0), heads = qkv.size(1) / kv.headDim - 2 * kv.kvHeads;
  TORCH_CHECK(heads > 0 && (heads + 2 * kv.kvHeads) * kv.headDim == qkv.size(1), "qkv: ", qkv.sizes(), " does not fit the cache ", cache.sizes());
  TORCH_CHECK(cos.scalar_type() == at::kFloat && sin.scalar_type() == at::kFloat && cos.sizes() == sin.sizes() && cos.size(1) == kv.headDim / 2, "cos and sin: float32 [positions, headDim / 2] expected");
  const Kernels kernels = kernelsFor(qkv, "rotate_store");
  Tensor queries = at::empty({rows, heads * kv.headDim}, qkv.options());
  const Rotate args{qkv.const_data_ptr(), cos.const_data_ptr<float>(), sin.const_data_ptr<float>(), indices(positions, "positions", rows, 0, cos.size(0)), indices(slotMapping, "slot_mapping", rows, -1, kv.blocks * kBlock),
                    queries.mutable_data_ptr(), kv.keys(), kv.values(), heads, kv.kvHeads, kv.headDim};
  parallel(rows, 8 * qkv.size(1), [&](int64_t row) { kernels.rotateStore(args, row); });
  return queries;
}

// Row i is a token at positions[i] of the sequence whose blocks are row sequences[i] of the block table; -1: a row that fills up
// the batch, whose result is zero.
Tensor pagedAttention(const Tensor &queries, const Tensor &cache, const Tensor &blockTable, const Tensor &sequences, const Tensor &positions, double scale) {
  checkDense(queries, "queries", 2);
  checkDense(blockTable, "block_table", 2);
  const Cache kv(cache, queries);
  const int64_t rows = queries.size(0), heads = queries.size(1) / kv.headDim, width = blockTable.size(1);
  TORCH_CHECK(heads * kv.headDim == queries.size(1) && heads % kv.kvHeads == 0, "queries: ", queries.sizes(), " do not fit the cache ", cache.sizes());
  const Kernels kernels = kernelsFor(queries, "paged_attention");
  Tensor out = at::empty_like(queries);
  const Attend args{queries.const_data_ptr(), kv.keys(), kv.values(), indices(blockTable, "block_table", blockTable.numel(), 0, kv.blocks), indices(sequences, "sequences", rows, -1, blockTable.size(0)),
                    indices(positions, "positions", rows, 0, width * kBlock), out.mutable_data_ptr(), heads, kv.kvHeads, kv.headDim, width, static_cast<float>(scale)};
  const int64_t group = heads / kv.kvHeads;
  const size_t bytes = queries.element_size() * group * kv.headDim;
  int64_t keys = 0;
  for (int64_t row = 0; row < rows; ++row) keys += args.sequences[row] < 0 ? 0 : args.positions[row] + 1;
  parallel(rows * kv.kvHeads, rows == 0 ? 1 : 2 * group * kv.headDim * keys / rows, [&](int64_t item) {
    const int64_t row = item / kv.kvHeads, kvHead = item % kv.kvHeads;
    if (args.sequences[row] < 0) {
      std::memset(static_cast<char *>(args.out) + (row * kv.kvHeads + kvHead) * bytes, 0, bytes);
      return;
    }
    thread_local std::vector<float> scratch;
    const size_t wanted = group * (2 * kv.headDim + 2);
    if (scratch.size() < wanted) scratch.resize(wanted);
    kernels.attend(args, row, kvHead, scratch.data());
  });
  return out;
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(whetstone, library) {
  if (!registers("whetstone::rms_norm")) return;
  library.def("rms_norm(Tensor x, Tensor weight, float eps) -> Tensor");
  library.def("add_rms_norm(Tensor x, Tensor residual, Tensor weight, float eps) -> (Tensor, Tensor)");
  library.def("swiglu(Tensor gate_up) -> Tensor");
  library.def("rotate_store(Tensor qkv, Tensor cos, Tensor sin, Tensor positions, Tensor slot_mapping, Tensor(a!) cache) -> Tensor");
  library.def("paged_attention(Tensor queries, Tensor cache, Tensor block_table, Tensor sequences, Tensor positions, float scale) -> Tensor");
}

TORCH_LIBRARY_IMPL(whetstone, CPU, library) {
  if (secondCopy) return;
  library.impl("rms_norm", rmsNorm);
  library.impl("add_rms_norm", addRmsNorm);
  library.impl("swiglu", swiglu);
  library.impl("rotate_store", rotateStore);
  library.impl("paged_attention", pagedAttention);
}

}  // namespace whetstone
