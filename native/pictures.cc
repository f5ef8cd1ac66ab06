// Pictures as bytes, resized on libuv's pool: several at once, beside the programs of a model rather than in their queue, and
// straight from one JavaScript buffer into another.
#include "napi_call.h"

#include <ATen/ops/_upsample_bicubic2d_aa.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/InferenceMode.h>

#include <condition_variable>

namespace whetstone {

namespace {

// process.exit() destroys libtorch's globals while the pool still works: it waits for what runs, and nothing more begins.
class Door {
  std::mutex mutex_;
  std::condition_variable left_;
  int inside_ = 0;
  bool closed_ = false;

public:
  Door() {
    std::atexit([] { door().close(); });
  }
  static Door &door() {
    static auto *one = new Door();
    return *one;
  }
  bool enter() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (closed_) return false;
    ++inside_;
    return true;
  }
  void leave() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (--inside_ == 0) left_.notify_all();
  }
  void close() {
    std::unique_lock<std::mutex> lock(mutex_);
    closed_ = true;
    left_.wait(lock, [this] { return inside_ == 0; });
  }
};

struct Size {
  int64_t height, width;
  int64_t pixels() const { return height * width; }
  bool operator==(const Size &) const = default;
};

struct Resize {
  const uint8_t *from;
  uint8_t *to;
  Size size, target;
  int64_t channels;
  std::exception_ptr error;
  napi_deferred deferred = nullptr;
  napi_async_work work = nullptr;
  napi_ref held[2] = {};  // both buffers
};

void greyToRgb(const uint8_t *from, uint8_t *to, int64_t pixels) {
  for (int64_t i = 0; i < pixels; ++i) to[3 * i] = to[3 * i + 1] = to[3 * i + 2] = from[i];
}

// As Pillow rounds it, for each channel x and the opacity a: t = x * a + 255 * (255 - a) + 128, then ((t >> 8) + t) >> 8.
void onWhite(const uint8_t *from, uint8_t *to, int64_t pixels) {
  for (int64_t i = 0; i < pixels; ++i) {
    const uint32_t opacity = from[4 * i + 3], white = 255 * (255 - opacity) + 128;
    for (int channel = 0; channel < 3; ++channel) {
      const uint32_t total = from[4 * i + channel] * opacity + white;
      to[3 * i + channel] = static_cast<uint8_t>(((total >> 8) + total) >> 8);
    }
  }
}

// A view of rows of pixels, as libtorch counts: [1, channels, height, width].
Tensor image(const uint8_t *rgb, Size size) {
  const int64_t row = size.width * 3;
  return at::from_blob(const_cast<uint8_t *>(rgb), {1, 3, size.height, size.width}, {row * size.height, 1, row, 3}, at::kByte);
}

void resize(Resize &r) {
  c10::InferenceMode inference;
  const bool same = r.size == r.target;
  std::unique_ptr<uint8_t[]> converted;
  const uint8_t *rgb = r.from;
  if (r.channels != 3) {
    if (!same) converted.reset(new uint8_t[3 * r.size.pixels()]);
    uint8_t *room = same ? r.to : converted.get();
    (r.channels == 1 ? greyToRgb : onWhite)(r.from, room, r.size.pixels());
    rgb = room;
  }
  if (!same) {
    Tensor target = image(r.to, r.target);
    at::_upsample_bicubic2d_aa_out(target, image(rgb, r.size), {r.target.height, r.target.width}, false);
  } else if (rgb != r.to) {
    memcpy(r.to, rgb, 3 * r.size.pixels());
  }
}

void work(napi_env, void *data) {
  if (!Door::door().enter()) return;
  auto &r = *static_cast<Resize *>(data);
  try {
    resize(r);
  } catch (...) {
    r.error = std::current_exception();
  }
  Door::door().leave();
}

void settleResize(napi_env env, napi_status, void *data) {
  std::unique_ptr<Resize> r(static_cast<Resize *>(data));
  napi_value result = nullptr;
  napi_get_reference_value(env, r->held[1], &result);
  if (r->error) napi_reject_deferred(env, r->deferred, toError(env, r->error));
  else napi_resolve_deferred(env, r->deferred, result);
  for (napi_ref reference : r->held) napi_delete_reference(env, reference);
  napi_delete_async_work(env, r->work);
}

// Arguments: the pixels, room for the result, height and width of both. The promise has the room, as RGB.
napi_value resizePicture(Call &c) {
  const auto [from, bytes] = c.bytes(0);
  const auto [to, room] = c.bytes(1);
  const Size size{c.integer(2), c.integer(3)}, target{c.integer(4), c.integer(5)};
  if (size.height < 1 || size.width < 1 || target.height < 1 || target.width < 1) throw ArgError("a picture without pixels");
  const int64_t channels = static_cast<int64_t>(bytes) / size.pixels();
  if (static_cast<int64_t>(bytes) != channels * size.pixels() || (channels != 1 && channels != 3 && channels != 4))
    throw ArgError("a pixel has 1, 3 or 4 bytes");
  if (static_cast<int64_t>(room) != 3 * target.pixels()) throw ArgError("the result has 3 bytes a pixel");
  auto r = std::make_unique<Resize>();
  r->from = reinterpret_cast<const uint8_t *>(from);
  r->to = reinterpret_cast<uint8_t *>(to);
  r->size = size;
  r->target = target;
  r->channels = channels;
  napi_value promise = nullptr, name = nullptr;
  napi_create_string_utf8(c.env, "whetstone.resizePicture", NAPI_AUTO_LENGTH, &name);
  for (int i = 0; i < 2; ++i)
    if (napi_create_reference(c.env, c.values[i], 1, &r->held[i]) != napi_ok) throw ArgError("a buffer cannot be held");
  if (napi_create_async_work(c.env, nullptr, name, work, settleResize, r.get(), &r->work) != napi_ok ||
      napi_create_promise(c.env, &r->deferred, &promise) != napi_ok || napi_queue_async_work(c.env, r->work) != napi_ok)
    throw ArgError("no work can be started now");
  r.release();
  return promise;
}

// Frees the memory of an array that JavaScript is done with: its collector knows megabytes of pixels only as one small object.
napi_value releaseBytes(Call &c) {
  (void)c.bytes(0);
  napi_value buffer = nullptr;
  size_t length = 0, offset = 0;
  void *data = nullptr;
  napi_typedarray_type type;
  napi_get_typedarray_info(c.env, c.values[0], &type, &length, &data, &buffer, &offset);
  napi_detach_arraybuffer(c.env, buffer);
  return c.nothing();
}

}  // namespace

void definePictures(napi_env env, napi_value exports, Bridge *b) {
  define<resizePicture>(env, exports, "resizePicture", b);
  define<releaseBytes>(env, exports, "releaseBytes", b);
}

}  // namespace whetstone
