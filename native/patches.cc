// Pixels to the rows that a vision tower reads, in one pass: normalised by a table and written where they belong. Composed of operators
// it takes five passes over memory, of which the copy into the order of patches has one thread.
#include "single_load.h"
#include "cpu.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <algorithm>
#include <cstring>

namespace whetstone {
namespace {

using at::Tensor;

// `frames`: uint8 [frames, height * width * 3]; where the grid needs more of them, the last one counts for the rest. `height` and
// `width` count tokens. A row has its channels, in each its frames, in each its rows of pixels.
Tensor cutPatches(const Tensor &frames, const Tensor &mean, const Tensor &std, int64_t time, int64_t height, int64_t width, int64_t patch, int64_t temporal, int64_t merge) {
  TORCH_CHECK(frames.device().is_cpu() && frames.scalar_type() == at::kByte && frames.dim() == 2 && frames.is_contiguous(), "frames: a contiguous matrix of bytes on the CPU expected, got ", frames.sizes());
  for (const Tensor *one : {&mean, &std})
    TORCH_CHECK(one->device().is_cpu() && one->scalar_type() == at::kFloat && one->numel() == 3 && one->is_contiguous(), "mean and std: 3 numbers each expected");
  TORCH_CHECK(time > 0 && height > 0 && width > 0 && patch > 0 && temporal > 0 && merge > 0, "a grid without patches");
  const int64_t rowBytes = width * merge * patch * 3, frameBytes = height * merge * patch * rowBytes, given = frames.size(0);
  TORCH_CHECK(frames.size(1) == frameBytes && given > 0 && given <= time * temporal, "frames: ", frames.sizes(), " do not fit a grid of ", time, " x ", height, " x ", width, " tokens");
  // The same two operations in float32 as for a whole picture.
  float table[3][256];
  for (int channel = 0; channel < 3; ++channel)
    for (int value = 0; value < 256; ++value)
      table[channel][value] = (static_cast<float>(value) - mean.const_data_ptr<float>()[channel]) / std.const_data_ptr<float>()[channel];
  const int64_t area = patch * patch, numbers = 3 * temporal * area, cells = merge * merge;
  Tensor out = at::empty({time * height * width * cells, numbers}, mean.options());
  const uint8_t *pixels = frames.const_data_ptr<uint8_t>();
  float *rows = out.mutable_data_ptr<float>();
  // A piece is a row of tokens.
  parallel(time * height, width * cells * numbers, [&](int64_t piece) {
    const int64_t step = piece / height, top = piece % height;
    float *to = rows + piece * width * cells * numbers;
    for (int64_t token = 0; token < width; ++token)
      for (int64_t cell = 0; cell < cells; ++cell, to += numbers) {
        const int64_t y = (top * merge + cell / merge) * patch, x = (token * merge + cell % merge) * patch;
        for (int64_t frame = 0; frame < temporal; ++frame) {
          const int64_t which = std::min(step * temporal + frame, given - 1);
          if (frame > 0 && which == std::min(step * temporal + frame - 1, given - 1)) {
            for (int channel = 0; channel < 3; ++channel)
              std::memcpy(to + (channel * temporal + frame) * area, to + (channel * temporal + frame - 1) * area, area * sizeof(float));
            continue;
          }
          const uint8_t *from = pixels + which * frameBytes + y * rowBytes + x * 3;
          for (int64_t line = 0; line < patch; ++line, from += rowBytes)
            for (int channel = 0; channel < 3; ++channel) {
              float *target = to + (channel * temporal + frame) * area + line * patch;
              for (int64_t i = 0; i < patch; ++i) target[i] = table[channel][from[3 * i + channel]];
            }
        }
      }
  });
  return out;
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(whetstone, library) {
  if (registers("whetstone::cut_patches")) library.def("cut_patches(Tensor frames, Tensor mean, Tensor std, int time, int height, int width, int patch, int temporal, int merge) -> Tensor");
}
TORCH_LIBRARY_IMPL(whetstone, CPU, library) {
  if (!secondCopy) library.impl("cut_patches", cutPatches);
}

}  // namespace whetstone
