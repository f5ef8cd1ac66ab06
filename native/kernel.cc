// CUDA kernels from source: NVRTC and the driver are found with dlopen, so neither building the bridge nor running it on
// a machine without a GPU needs anything of CUDA's. A kernel is compiled for a device when it is first launched there.
#include "bridge.h"

#include <c10/core/DeviceGuard.h>

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <sstream>

namespace whetstone {

namespace {

template <class F> F symbol(void *library, const char *name) {
  auto *found = reinterpret_cast<F>(dlsym(library, name));
  if (!found) throw std::runtime_error(std::string(name) + " is missing from the CUDA libraries");
  return found;
}

struct Driver {
  void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  int (*init)(unsigned) = nullptr;
  int (*deviceCount)(int *) = nullptr;
  int (*deviceName)(char *, int, int) = nullptr;
  int (*totalMemory)(size_t *, int) = nullptr;
  int (*attribute)(int *, int, int) = nullptr;
  int (*load)(void **, const void *) = nullptr;
  int (*function)(void **, void *, const char *) = nullptr;
  int (*setAttribute)(void *, int, int) = nullptr;
  int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **) = nullptr;
  int (*errorText)(int, const char **) = nullptr;
  int (*currentContext)(void **) = nullptr;
  int (*useContext)(void *) = nullptr;
  int (*primaryContext)(void **, int) = nullptr;

  Driver() {
    if (!library) return;
    init = symbol<decltype(init)>(library, "cuInit");
    deviceCount = symbol<decltype(deviceCount)>(library, "cuDeviceGetCount");
    deviceName = symbol<decltype(deviceName)>(library, "cuDeviceGetName");
    totalMemory = symbol<decltype(totalMemory)>(library, "cuDeviceTotalMem_v2");
    attribute = symbol<decltype(attribute)>(library, "cuDeviceGetAttribute");
    load = symbol<decltype(load)>(library, "cuModuleLoadData");
    function = symbol<decltype(function)>(library, "cuModuleGetFunction");
    setAttribute = symbol<decltype(setAttribute)>(library, "cuFuncSetAttribute");
    launch = symbol<decltype(launch)>(library, "cuLaunchKernel");
    errorText = symbol<decltype(errorText)>(library, "cuGetErrorString");
    currentContext = symbol<decltype(currentContext)>(library, "cuCtxGetCurrent");
    useContext = symbol<decltype(useContext)>(library, "cuCtxSetCurrent");
    primaryContext = symbol<decltype(primaryContext)>(library, "cuDevicePrimaryCtxRetain");
  }
  // A thread that has only taken memory from libtorch's cache never called CUDA's runtime, and has no context yet.
  void enter(int device) const {
    void *context = nullptr;
    if (currentContext(&context) == 0 && context) return;
    check(primaryContext(&context, device), "the device's context");
    check(useContext(context), "the device's context");
  }
  void check(int status, const char *what) const {
    if (status == 0) return;
    const char *text = nullptr;
    errorText(status, &text);
    throw std::runtime_error(std::string(what) + ": " + (text ? text : "unknown CUDA error"));
  }
};

const Driver &driver() {
  static const Driver instance;
  return instance;
}

struct Nvrtc {
  void *library = nullptr;
  using Program = void *;
  int (*create)(Program *, const char *, const char *, int, const char *const *, const char *const *) = nullptr;
  int (*compile)(Program, int, const char *const *) = nullptr;
  int (*cubinSize)(Program, size_t *) = nullptr;
  int (*cubin)(Program, char *) = nullptr;
  int (*logSize)(Program, size_t *) = nullptr;
  int (*log)(Program, char *) = nullptr;
  int (*destroy)(Program *) = nullptr;
  int (*version)(int *, int *) = nullptr;
  const char *(*errorText)(int) = nullptr;
  int major = 0, minor = 0;

  Nvrtc() {
    for (const char *name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"})
      if ((library = dlopen(name, RTLD_LAZY | RTLD_LOCAL))) break;
    if (!library) throw std::runtime_error("CUDA kernels need libnvrtc, which was not found; install CUDA's NVRTC or put its directory into LD_LIBRARY_PATH");
    create = symbol<decltype(create)>(library, "nvrtcCreateProgram");
    compile = symbol<decltype(compile)>(library, "nvrtcCompileProgram");
    cubinSize = symbol<decltype(cubinSize)>(library, "nvrtcGetCUBINSize");
    cubin = symbol<decltype(cubin)>(library, "nvrtcGetCUBIN");
    logSize = symbol<decltype(logSize)>(library, "nvrtcGetProgramLogSize");
    log = symbol<decltype(log)>(library, "nvrtcGetProgramLog");
    destroy = symbol<decltype(destroy)>(library, "nvrtcDestroyProgram");
    version = symbol<decltype(version)>(library, "nvrtcVersion");
    errorText = symbol<decltype(errorText)>(library, "nvrtcGetErrorString");
    version(&major, &minor);
  }
};

const Nvrtc &nvrtc() {
  static const Nvrtc instance;
  return instance;
}

std::string compile(const std::string &source, const std::string &file, int major, int minor) {
  const Nvrtc &api = nvrtc();
  Nvrtc::Program program = nullptr;
  if (int status = api.create(&program, source.c_str(), file.c_str(), 0, nullptr, nullptr)) throw std::runtime_error(api.errorText(status));
  // The "a" target carries Hopper's own instructions; older chips have no such target.
  const std::string arch = "--gpu-architecture=sm_" + std::to_string(major * 10 + minor) + (major >= 9 ? "a" : "");
  const char *options[] = {arch.c_str(), "--std=c++17"};
  const int status = api.compile(program, 2, options);
  if (status) {
    size_t size = 0;
    api.logSize(program, &size);
    std::string log(size, '\0');
    api.log(program, log.data());
    api.destroy(&program);
    throw std::runtime_error("the kernel does not compile:\n" + std::string(log.c_str()));
  }
  size_t size = 0;
  api.cubinSize(program, &size);
  std::string cubin(size, '\0');
  api.cubin(program, cubin.data());
  api.destroy(&program);
  return cubin;
}

std::string readFile(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return in ? std::string(std::istreambuf_iterator<char>(in), {}) : std::string();
}

// Written beside and renamed: two processes that compile the same kernel leave one whole file.
void writeFile(const std::string &path, const std::string &bytes) {
  const std::string temporary = path + "." + std::to_string(getpid());
  std::ofstream out(temporary, std::ios::binary);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out || rename(temporary.c_str(), path.c_str()) != 0) unlink(temporary.c_str());
}

void *currentStream(int device) {
  static auto *shim = reinterpret_cast<int (*)(int32_t, void **)>(dlsym(RTLD_DEFAULT, "aoti_torch_get_current_cuda_stream"));
  void *stream = nullptr;
  if (!shim || shim(device, &stream) != 0) throw std::runtime_error("libtorch does not tell its current CUDA stream");
  return stream;
}

std::optional<c10::ScalarType> dtypeOf(char letter) {
  switch (letter) {
    case 'F': return c10::kFloat;
    case 'H': return c10::kHalf;
    case 'B': return c10::kBFloat16;
    case 'D': return c10::kDouble;
    case 'I': return c10::kInt;
    case 'L': return c10::kLong;
    case 'U': return c10::kByte;
    case 'O': return c10::kBool;
    default: return std::nullopt;
  }
}

}  // namespace

struct Kernel {
  std::string source, file, entry, params, cachePath;
  std::mutex mutex;
  std::vector<void *> functions;  // by device
  int sharedLimit = 0;

  void *on(int device) {
    std::lock_guard<std::mutex> lock(mutex);
    if (static_cast<size_t>(device) < functions.size() && functions[device]) return functions[device];
    const Driver &api = driver();
    int major = 0, minor = 0;
    api.check(api.attribute(&major, 75, device), "compute capability");
    api.check(api.attribute(&minor, 76, device), "compute capability");
    std::string path = cachePath, cubin;
    if (!path.empty()) {
      const Nvrtc &compiler = nvrtc();
      path += "-sm" + std::to_string(major * 10 + minor) + "-nvrtc" + std::to_string(compiler.major) + "." + std::to_string(compiler.minor) + ".cubin";
      cubin = readFile(path);
    }
    void *module = nullptr;
    if (cubin.empty() || api.load(&module, cubin.data()) != 0) {  // absent, or cut short by a full disk
      cubin = compile(source, file, major, minor);
      api.check(api.load(&module, cubin.data()), "loading a kernel");
      if (!path.empty()) writeFile(path, cubin);
    }
    void *function = nullptr;
    api.check(api.function(&function, module, entry.c_str()), ("finding " + entry).c_str());
    if (functions.size() <= static_cast<size_t>(device)) functions.resize(device + 1);
    return functions[device] = function;
  }
};

std::shared_ptr<Kernel> makeKernel(std::string source, std::string file, std::string entry, std::string params, std::string cachePath) {
  auto kernel = std::make_shared<Kernel>();
  kernel->source = std::move(source);
  kernel->file = std::move(file);
  kernel->entry = std::move(entry);
  kernel->params = std::move(params);
  kernel->cachePath = std::move(cachePath);
  return kernel;
}

// args: grid x y z, block x y z, bytes of shared memory, then the kernel's parameters.
// params: one letter each, t tensor (a capital one: of that dtype), i int32, l int64, f float, d double.
void launch(Kernel &kernel, const std::vector<IValue> &args) {
  if (!driver().library) throw ArgError("kernel " + kernel.entry + " needs a CUDA device; this machine has no CUDA driver");
  if (args.size() != 7 + kernel.params.size())
    throw ArgError("kernel " + kernel.entry + " takes " + std::to_string(kernel.params.size()) + " parameters, got " + std::to_string(static_cast<int>(args.size()) - 7));
  unsigned shape[7];
  for (int i = 0; i < 7; ++i) {
    if (!args[i].isInt() || args[i].toInt() < (i < 3 || i == 6 ? 0 : 1) || args[i].toInt() > 0x7fffffff) throw ArgError("a kernel's grid, block and shared memory are positive integers, got " + describe(args[i]));
    shape[i] = static_cast<unsigned>(args[i].toInt());
  }
  std::vector<uint64_t> storage(kernel.params.size());
  std::vector<void *> pointers(kernel.params.size());
  std::optional<c10::Device> device;
  for (size_t i = 0; i < kernel.params.size(); ++i) {
    const IValue &value = args[7 + i];
    void *at = &storage[i];
    pointers[i] = at;
    const auto wrong = [&](const char *expected) { return ArgError("kernel " + kernel.entry + ": parameter " + std::to_string(i) + " expects " + expected + ", got " + describe(value)); };
    switch (kernel.params[i]) {
      case 't': case 'F': case 'H': case 'B': case 'D': case 'I': case 'L': case 'U': case 'O': {
        if (value.isNone()) break;  // a null pointer: an optional tensor
        if (!value.isTensor() || !value.toTensor().is_cuda()) throw wrong("a CUDA tensor");
        const Tensor &tensor = value.toTensor();
        if (!tensor.is_contiguous()) throw wrong("a contiguous tensor");
        const auto type = dtypeOf(kernel.params[i]);
        if (type && *type != tensor.scalar_type()) throw wrong((std::string("a tensor of ") + c10::toString(*type)).c_str());
        // A misaligned access would end every use of CUDA in this process.
        if (reinterpret_cast<uintptr_t>(tensor.data_ptr()) % 16) throw wrong("a tensor that starts at a multiple of 16 bytes; clone() it");
        if (device && *device != tensor.device()) throw wrong("a tensor on the same device as the others");
        device = tensor.device();
        void *data = tensor.data_ptr();
        memcpy(at, &data, sizeof data);
        break;
      }
      case 'i': case 'l': {
        if (!value.isInt()) throw wrong("an integer");
        const int64_t number = value.toInt();
        if (kernel.params[i] == 'i' && number != static_cast<int32_t>(number)) throw wrong("a 32-bit integer");
        memcpy(at, &number, sizeof number);  // little-endian: the low half is the int32
        break;
      }
      default: {
        if (!value.isInt() && !value.isDouble()) throw wrong("a number");
        const double number = value.toScalar().toDouble();
        const auto narrow = static_cast<float>(number);
        if (kernel.params[i] == 'f') memcpy(at, &narrow, sizeof narrow);
        else memcpy(at, &number, sizeof number);
      }
    }
  }
  if (!device) throw ArgError("kernel " + kernel.entry + " got no tensor");
  if (shape[0] == 0 || shape[1] == 0 || shape[2] == 0) return;  // no rows, no work; CUDA refuses an empty grid
  const c10::DeviceGuard guard(*device);
  const Driver &api = driver();
  api.enter(device->index());
  void *function = kernel.on(device->index());
  if (static_cast<int>(shape[6]) > 48 * 1024 && static_cast<int>(shape[6]) > kernel.sharedLimit) {
    api.check(api.setAttribute(function, 8, static_cast<int>(shape[6])), "raising the shared memory limit");
    kernel.sharedLimit = static_cast<int>(shape[6]);
  }
  api.check(api.launch(function, shape[0], shape[1], shape[2], shape[3], shape[4], shape[5], shape[6], currentStream(device->index()), pointers.data(), nullptr),
            ("launching " + kernel.entry).c_str());
}

std::vector<CudaDevice> cudaDevices() {
  const Driver &api = driver();
  std::vector<CudaDevice> found;
  int count = 0;
  if (!api.library || api.init(0) != 0 || api.deviceCount(&count) != 0) return found;
  for (int i = 0; i < count; ++i) {
    char name[256] = {};
    size_t bytes = 0;
    int major = 0, minor = 0;
    api.deviceName(name, sizeof name - 1, i);
    api.totalMemory(&bytes, i);
    api.attribute(&major, 75, i);
    api.attribute(&minor, 76, i);
    found.push_back({name, static_cast<double>(bytes), major, minor});
  }
  return found;
}

}  // namespace whetstone
