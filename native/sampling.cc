// Sampling on the CPU: one row of logits for each sequence, each with its own parameters and its own stream of random
// numbers, in one call. Every filter comes down to the least logit that stays, so that all of them and none share one path.
#include "single_load.h"
#include "cpu.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#pragma GCC diagnostic ignored "-Wpsabi"  // vectors are passed inside this file only

namespace whetstone {
namespace {

using at::Tensor;

constexpr int64_t kChunk = 64;
constexpr float kNothing = -std::numeric_limits<float>::infinity();

namespace portable {
#include "vector.h"
#include "sampling-kernels.h"
}
WHETSTONE_WIDE_BEGIN
namespace wide {
#include "vector.h"
#include "sampling-kernels.h"
}
WHETSTONE_WIDE_END

struct ForwardPrograms {
  decltype(&portable::largest) largest;
  decltype(&portable::exponentials) exponentials;
  decltype(&portable::pick) pick;
};

// Philox4x32-10 (Salmon et al. 2011): random numbers as a function of a key and a counter, with no state to carry.
double uniform(uint32_t key0, uint32_t key1, uint32_t counter) {
  uint32_t c[4] = {counter, 0, 0, 0};
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * c[0], b = uint64_t{0xCD9E8D57} * c[2];
    const uint32_t next[4] = {static_cast<uint32_t>(b >> 32) ^ c[1] ^ key0, static_cast<uint32_t>(b), static_cast<uint32_t>(a >> 32) ^ c[3] ^ key1, static_cast<uint32_t>(a)};
    std::copy(next, next + 4, c);
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  return ((c[0] >> 5) * 67108864.0 + (c[1] >> 6)) / 9007199254740992.0;
}

struct Settings {
  double temperature, topK, topP, minP;
};

struct Scratch {
  std::vector<float> logits, powers, bests, sorted;
  std::vector<std::pair<float, float>> weighted;
};

// The k-th largest logit. Each chunk's largest is a logit: where that many of these are, none below can be the one, and only
// chunks with larger ones are looked at.
float kthLargest(const ForwardPrograms &passes, const float *x, int64_t count, int64_t k, Scratch &scratch) {
  std::vector<float> &bests = scratch.bests, &sorted = scratch.sorted;
  bests.clear();
  for (int64_t begin = 0; begin < count; begin += kChunk) bests.push_back(passes.largest(x + begin, std::min(kChunk, count - begin)));
  float bound = kNothing;
  if (k <= static_cast<int64_t>(bests.size())) {
    sorted = bests;
    std::nth_element(sorted.begin(), sorted.begin() + (k - 1), sorted.end(), std::greater<float>());
    bound = sorted[k - 1];
  }
  sorted.clear();
  for (size_t chunk = 0; chunk < bests.size(); ++chunk) {
    if (bests[chunk] < bound) continue;
    const int64_t begin = chunk * kChunk;
    for (int64_t i = begin; i < std::min(begin + kChunk, count); ++i)
      if (x[i] >= bound) sorted.push_back(x[i]);
  }
  std::nth_element(sorted.begin(), sorted.begin() + (k - 1), sorted.end(), std::greater<float>());
  return sorted[k - 1];
}

// The least logit of the smallest set of likeliest tokens whose probabilities reach `share`; those of equal logit stay
// together. Weights are added up by how far from the best their logits are, and only those where the share is reached are
// sorted.
float nucleus(const ForwardPrograms &passes, const float *x, int64_t count, float scale, float most, float least, double share, Scratch &scratch) {
  constexpr int kBins = 1024;
  constexpr float kPerUnit = 32;
  const auto binOf = [&](float value) {
    const float far = (most - value) * scale * kPerUnit;
    return far < kBins - 1 ? static_cast<int>(far) : kBins - 1;
  };
  std::vector<float> &powers = scratch.powers;
  if (powers.size() < static_cast<size_t>(count)) powers.resize(count);
  const double target = share * passes.exponentials(x, powers.data(), count, scale, most, least);
  double weights[kBins] = {};
  for (int64_t i = 0; i < count; ++i)
    if (powers[i] > 0) weights[binOf(x[i])] += powers[i];
  double sum = 0;
  int bin = 0;
  while (bin < kBins - 1 && sum + weights[bin] < target) sum += weights[bin++];
  std::vector<std::pair<float, float>> &weighted = scratch.weighted;
  weighted.clear();
  for (int64_t i = 0; i < count; ++i)
    if (powers[i] > 0 && binOf(x[i]) == bin) weighted.emplace_back(x[i], powers[i]);
  std::sort(weighted.begin(), weighted.end(), std::greater<>());
  for (const auto &[value, power] : weighted) {
    least = value;
    sum += power;
    if (sum >= target) break;
  }
  return least;
}

std::tuple<Tensor, Tensor, Tensor, Tensor> sample(const Tensor &logits, const Tensor &settings, const Tensor &streams, const Tensor &forced, const Tensor &forbiddenOffsets, const Tensor &forbiddenIds, int64_t top) {
  const auto ints = [](const Tensor &tensor, const char *name, int64_t count) {
    TORCH_CHECK(tensor.device().is_cpu() && tensor.is_contiguous() && tensor.scalar_type() == at::kInt && (count < 0 || tensor.numel() == count), name, ": contiguous int32 on the CPU expected, ", count, " of them");
    return tensor.const_data_ptr<int32_t>();
  };
  TORCH_CHECK(logits.device().is_cpu() && logits.is_contiguous() && logits.dim() == 2 && logits.scalar_type() == at::kFloat, "logits: contiguous float32 of two dimensions on the CPU expected");
  TORCH_CHECK(settings.device().is_cpu() && settings.is_contiguous() && settings.dim() == 2 && settings.size(1) == 4 && settings.scalar_type() == at::kDouble, "settings: float64 [rows, 4] expected");
  const int64_t rows = settings.size(0), count = logits.size(1);
  TORCH_CHECK(rows <= logits.size(0), "settings: more rows than logits have");
  TORCH_CHECK(top <= count, "top: the vocabulary has ", count, " tokens");
  const int32_t *stream = ints(streams, "streams", 3 * rows), *force = ints(forced, "forced", rows), *offsets = ints(forbiddenOffsets, "forbidden_offsets", rows + 1), *forbidden = ints(forbiddenIds, "forbidden_ids", -1);
  TORCH_CHECK(offsets[0] == 0 && offsets[rows] <= forbiddenIds.numel(), "forbidden_offsets do not fit forbidden_ids");
  for (int64_t i = 0; i < rows; ++i) TORCH_CHECK(offsets[i] <= offsets[i + 1] && force[i] < count, "row ", i, ": offsets fall, or the token is not in the vocabulary");
  for (int64_t i = 0; i < offsets[rows]; ++i) TORCH_CHECK(forbidden[i] >= 0 && forbidden[i] < count, "forbidden_ids[", i, "]: not in the vocabulary");

  const int64_t columns = top < 0 ? 0 : top + 1;
  Tensor ids = at::empty({rows}, streams.options()), logprobs = at::empty({2, rows}, logits.options());
  Tensor topIds = at::empty({rows, columns}, streams.options()), topLogprobs = at::empty({rows, columns}, logits.options());
  const float *all = logits.const_data_ptr<float>();
  const auto *parameters = reinterpret_cast<const Settings *>(settings.const_data_ptr<double>());
  auto *id = ids.mutable_data_ptr<int32_t>(), *topId = topIds.mutable_data_ptr<int32_t>();
  auto *raw = logprobs.mutable_data_ptr<float>(), *processed = raw + rows, *topLogprob = topLogprobs.mutable_data_ptr<float>();
  const ForwardPrograms passes = wideVectors() ? ForwardPrograms{wide::largest, wide::exponentials, wide::pick} : ForwardPrograms{portable::largest, portable::exponentials, portable::pick};

  parallel(rows, 32 * count, [&](int64_t row) {
    thread_local Scratch scratch;
    const float *x = all + row * count;
    const Settings &want = parameters[row];
    const float most = passes.largest(x, count);
    const double total = passes.exponentials(x, nullptr, count, 1, most, kNothing);
    const double logTotal = std::log(total);
    const auto fail = [&] {
      id[row] = -1;
      raw[row] = processed[row] = std::numeric_limits<float>::quiet_NaN();
      for (int64_t i = 0; i < columns; ++i) {
        topId[row * columns + i] = 0;
        topLogprob[row * columns + i] = std::numeric_limits<float>::quiet_NaN();
      }
    };
    if (!std::isfinite(most) || !std::isfinite(total)) return fail();

    const float *allowed = x;
    float best = most;
    if (offsets[row] < offsets[row + 1]) {
      scratch.logits.assign(x, x + count);
      for (int32_t i = offsets[row]; i < offsets[row + 1]; ++i) scratch.logits[forbidden[i]] = kNothing;
      allowed = scratch.logits.data();
      best = passes.largest(allowed, count);
      if (!(best > kNothing) && force[row] < 0) return fail();
    }
    const bool greedy = want.temperature == 0;
    const float scale = greedy ? 1.0f : static_cast<float>(1 / want.temperature);
    float least = kNothing;
    if (!greedy && want.topK > 0 && want.topK < count) least = kthLargest(passes, allowed, count, static_cast<int64_t>(want.topK), scratch);
    if (!greedy && want.topP < 1) least = std::max(least, nucleus(passes, allowed, count, scale, best, least, want.topP, scratch));
    if (!greedy && want.minP > 0) least = std::max(least, best + static_cast<float>(std::log(want.minP)) / scale);
    if (least > best) least = best;

    int64_t chosen = force[row];
    double kept = total;
    const bool untouched = allowed == x && scale == 1 && least == kNothing;
    if (greedy && chosen < 0) {
      chosen = std::find(allowed, allowed + count, best) - allowed;
      if (!untouched) kept = passes.exponentials(allowed, nullptr, count, scale, best, least);
    } else if (chosen < 0) {
      if (scratch.powers.size() < static_cast<size_t>(count)) scratch.powers.resize(count);
      kept = passes.exponentials(allowed, scratch.powers.data(), count, scale, best, least);
      const auto *words = reinterpret_cast<const uint32_t *>(stream + 3 * row);
      chosen = passes.pick(scratch.powers.data(), count, uniform(words[0], words[1], words[2]) * kept);
    } else if (!untouched) {
      kept = passes.exponentials(allowed, nullptr, count, scale, best, least);
    }
    if (chosen < 0 || chosen >= count) return fail();
    id[row] = static_cast<int32_t>(chosen);
    raw[row] = static_cast<float>(static_cast<double>(x[chosen] - most) - logTotal);
    processed[row] = allowed[chosen] < least || allowed[chosen] == kNothing ? kNothing : static_cast<float>(static_cast<double>((allowed[chosen] - best) * scale) - std::log(kept));

    if (columns > 0) {
      // The first column is the chosen token's rank, 1 for the likeliest; then the likeliest tokens, lower ids first among equals.
      int32_t rank = 1;
      for (int64_t i = 0; i < count; ++i) rank += x[i] > x[chosen];
      topId[row * columns] = rank;
      topLogprob[row * columns] = raw[row];
      std::vector<int32_t> order;
      const auto before = [x](int32_t a, int32_t b) { return x[a] > x[b] || (x[a] == x[b] && a < b); };
      for (int32_t i = 0; i < count && top > 0; ++i) {
        if (static_cast<int64_t>(order.size()) == top && !before(i, order.back())) continue;
        if (static_cast<int64_t>(order.size()) == top) order.pop_back();
        order.insert(std::lower_bound(order.begin(), order.end(), i, before), i);
      }
      for (int64_t i = 0; i < top; ++i) {
        topId[row * columns + 1 + i] = order[i];
        topLogprob[row * columns + 1 + i] = static_cast<float>(static_cast<double>(x[order[i]] - most) - logTotal);
      }
    }
  });
  return {ids, logprobs, topIds, topLogprobs};
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(whetstone, library) {
  if (registers("whetstone::sample"))
    library.def("sample(Tensor logits, Tensor settings, Tensor streams, Tensor forced, Tensor forbidden_offsets, Tensor forbidden_ids, int top) -> (Tensor, Tensor, Tensor, Tensor)");
}
TORCH_LIBRARY_IMPL(whetstone, CPU, library) {
  if (!secondCopy) library.impl("sample", sample);
}

}  // namespace whetstone
