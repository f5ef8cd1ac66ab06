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

// As in cuda.h, which building the bridge must not need.
struct LaunchAttribute {
  int id;
  alignas(8) unsigned value[16];
};
struct LaunchConfig {
  unsigned grid[3], block[3], sharedBytes;
  void *stream;
  LaunchAttribute *attributes;
  unsigned attributeCount;
};
struct alignas(128) TensorMap {
  uint64_t opaque[16];
};
static_assert(sizeof(LaunchAttribute) == 72 && sizeof(LaunchConfig) == 56 && sizeof(TensorMap) == 128, "the driver reads these");
constexpr int kClusterDimension = 4, kProgrammaticStreamSerialization = 6;              // CUlaunchAttributeID
constexpr int kMultiprocessorCount = 16, kCapabilityMajor = 75, kCapabilityMinor = 76;  // CUdevice_attribute
constexpr int kMaxDynamicSharedBytes = 8;                                               // CUfunction_attribute
constexpr int kMapFloat16 = 6, kMapBFloat16 = 9;                                        // CUtensorMapDataType
constexpr int kInterleaveNone = 0, kSwizzle128B = 3, kPromotion256B = 3, kFillZeros = 0;

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
  int (*launch)(const LaunchConfig *, void *, void **, void **) = nullptr;
  // Null where the driver is older than CUDA 12.
  int (*encodeTiled)(TensorMap *, int, uint32_t, void *, const uint64_t *, const uint64_t *, const uint32_t *, const uint32_t *, int, int, int, int) = nullptr;
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
    launch = symbol<decltype(launch)>(library, "cuLaunchKernelEx");
    encodeTiled = reinterpret_cast<decltype(encodeTiled)>(dlsym(library, "cuTensorMapEncodeTiled"));
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
    case 'h': return c10::kHalf;
    case 'b': return c10::kBFloat16;
    default: return std::nullopt;
  }
}

struct Parameter {
  char kind;
  std::vector<uint32_t> box;  // of tiles, in the tensor's order of dimensions
};

// One letter each: t tensor (a capital one: of that dtype), i int32, l int64, f float, d double; h and b are tiles of
// float16 and bfloat16 with their box behind them, as in "b128,64;".
std::vector<Parameter> readParameters(const std::string &text) {
  std::vector<Parameter> parameters;
  std::istringstream in(text);
  for (char kind; in >> kind;) {
    Parameter parameter{kind, {}};
    if (kind == 'h' || kind == 'b')
      for (char separator = ','; separator == ',';) {
        uint32_t length = 0;
        separator = ';';
        in >> length >> separator;
        parameter.box.push_back(length);
      }
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

// What the driver asks of a tensor that is read in tiles, and would refuse as an "invalid argument"; empty where it is met.
std::string missingForTiles(const Tensor &tensor, const Parameter &parameter) {
  const auto rank = static_cast<int64_t>(parameter.box.size());
  if (tensor.dim() != rank) return "a tensor of " + std::to_string(rank) + (rank == 1 ? " dimension" : " dimensions") + ", as many as its box has";
  const auto with = [&](const char *rule) {
    std::ostringstream text;
    text << "a tensor whose " << rule << ", not strides of " << tensor.strides();
    return text.str();
  };
  // Of one element or none, nothing is a stride away.
  if (tensor.size(-1) > 1 && tensor.stride(-1) != 1) return with("last dimension has stride 1");
  for (int64_t d = 0; d < rank - 1; ++d)
    if (tensor.size(d) > 1 && tensor.stride(d) * tensor.element_size() % 16) return with("dimensions before the last have strides of a multiple of 16 bytes");
  return {};
}

// The driver's order of dimensions is the reverse of the tensor's.
TensorMap encodeTiles(const Tensor &tensor, const Parameter &parameter, const std::string &what) {
  const Driver &api = driver();
  if (!api.encodeTiled) throw std::runtime_error(what + " is read in tiles, for which the CUDA driver is too old; it takes one of CUDA 12");
  const auto rank = static_cast<int>(parameter.box.size());
  uint64_t sizes[5], strides[5];
  uint32_t box[5], steps[5];
  for (int d = 0; d < rank; ++d) {
    const int from = rank - 1 - d;
    sizes[d] = static_cast<uint64_t>(tensor.size(from));
    strides[d] = static_cast<uint64_t>(tensor.size(from) == 1 ? 16 : tensor.stride(from) * tensor.element_size());
    box[d] = parameter.box[from];
    steps[d] = 1;
  }
  TensorMap map;
  api.check(api.encodeTiled(&map, parameter.kind == 'h' ? kMapFloat16 : kMapBFloat16, static_cast<uint32_t>(rank), tensor.data_ptr(), sizes, strides + 1, box, steps,
                            kInterleaveNone, kSwizzle128B, kPromotion256B, kFillZeros),
            what.c_str());
  return map;
}

}  // namespace

struct Kernel {
  struct Function {
    void *handle = nullptr;
    unsigned sharedLimit = 48 * 1024;  // what every kernel may use unasked
  };
  std::string source, file, entry, cachePath;
  std::vector<Parameter> parameters;
  std::mutex mutex;
  std::vector<Function> functions;  // by device

  // The function of that device, allowed to use that much shared memory.
  void *on(int device, unsigned sharedBytes) {
    std::lock_guard<std::mutex> lock(mutex);
    if (functions.size() <= static_cast<size_t>(device)) functions.resize(device + 1);
    Function &function = functions[device];
    if (!function.handle) function.handle = load(device);
    if (sharedBytes > function.sharedLimit) {
      driver().check(driver().setAttribute(function.handle, kMaxDynamicSharedBytes, static_cast<int>(sharedBytes)), "raising the shared memory limit");
      function.sharedLimit = sharedBytes;
    }
    return function.handle;
  }

 private:
  void *load(int device) const {
    const Driver &api = driver();
    int major = 0, minor = 0;
    api.check(api.attribute(&major, kCapabilityMajor, device), "compute capability");
    api.check(api.attribute(&minor, kCapabilityMinor, device), "compute capability");
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
    return function;
  }
};

std::shared_ptr<Kernel> makeKernel(std::string source, std::string file, std::string entry, std::string params, std::string cachePath) {
  auto kernel = std::make_shared<Kernel>();
  kernel->source = std::move(source);
  kernel->file = std::move(file);
  kernel->entry = std::move(entry);
  kernel->parameters = readParameters(params);
  kernel->cachePath = std::move(cachePath);
  return kernel;
}

// args: grid x y z, block x y z, bytes of shared memory, cluster x y z, whether it overlaps (0 or 1), then the kernel's parameters.
void launch(Kernel &kernel, const std::vector<IValue> &args) {
  constexpr size_t head = 11;
  const size_t count = kernel.parameters.size();
  if (args.size() != head + count)
    throw ArgError("kernel " + kernel.entry + " takes " + std::to_string(count) + " parameters, got " + std::to_string(static_cast<int>(args.size()) - static_cast<int>(head)));
  unsigned shape[head];
  for (size_t i = 0; i < head; ++i) {
    const bool mayBeZero = i < 3 || i == 6 || i == 10;
    if (!args[i].isInt() || args[i].toInt() < (mayBeZero ? 0 : 1) || args[i].toInt() > 0x7fffffff)
      throw ArgError("a kernel's grid, block, shared memory and cluster are positive integers, got " + describe(args[i]));
    shape[i] = static_cast<unsigned>(args[i].toInt());
  }
  const unsigned *grid = shape, *block = shape + 3, sharedBytes = shape[6], *cluster = shape + 7, overlap = shape[10];
  const double clusterBlocks = 1.0 * cluster[0] * cluster[1] * cluster[2];
  if (clusterBlocks > 8) throw ArgError("kernel " + kernel.entry + ": a cluster has at most 8 blocks");
  for (int i = 0; i < 3; ++i)
    if (grid[i] % cluster[i])
      throw ArgError("kernel " + kernel.entry + ": a grid is made of whole clusters, got " + std::to_string(grid[i]) + " blocks in clusters of " + std::to_string(cluster[i]));

  std::vector<TensorMap> storage(count);  // the largest parameter, and the one that must be aligned
  std::vector<void *> pointers(count);
  std::optional<c10::Device> device;
  bool tiles = false;
  for (size_t i = 0; i < count; ++i) {
    const IValue &value = args[head + i];
    const Parameter &parameter = kernel.parameters[i];
    void *at = &storage[i];
    pointers[i] = at;
    const auto wrong = [&](const std::string &expected) { return ArgError("kernel " + kernel.entry + ": parameter " + std::to_string(i) + " expects " + expected + ", got " + describe(value)); };
    switch (parameter.kind) {
      case 't': case 'F': case 'H': case 'B': case 'D': case 'I': case 'L': case 'U': case 'O': case 'h': case 'b': {
        const bool tiled = !parameter.box.empty();
        tiles |= tiled;
        if (value.isNone() && !tiled) break;  // a null pointer: an optional tensor
        if (!value.isTensor() || !value.toTensor().defined()) throw wrong("a CUDA tensor");
        const Tensor &tensor = value.toTensor();
        const auto type = dtypeOf(parameter.kind);
        if (type && *type != tensor.scalar_type()) throw wrong(std::string("a tensor of ") + c10::toString(*type));
        if (tiled) {
          const std::string missing = missingForTiles(tensor, parameter);
          if (!missing.empty()) throw wrong(missing);
        } else if (!tensor.is_contiguous()) {
          throw wrong("a contiguous tensor");
        }
        // A misaligned access would end every use of CUDA in this process.
        if (reinterpret_cast<uintptr_t>(tensor.data_ptr()) % 16) throw wrong("a tensor that starts at a multiple of 16 bytes; clone() it");
        if (!driver().library) throw ArgError("kernel " + kernel.entry + " needs a CUDA device; this machine has no CUDA driver");
        if (!tensor.is_cuda()) throw wrong("a CUDA tensor");
        if (device && *device != tensor.device()) throw wrong("a tensor on the same device as the others");
        device = tensor.device();
        void *data = tensor.data_ptr();
        memcpy(at, &data, sizeof data);
        break;
      }
      case 'i': case 'l': {
        if (!value.isInt()) throw wrong("an integer");
        const int64_t number = value.toInt();
        if (parameter.kind == 'i' && number != static_cast<int32_t>(number)) throw wrong("a 32-bit integer");
        memcpy(at, &number, sizeof number);  // little-endian: the low half is the int32
        break;
      }
      default: {
        if (!value.isInt() && !value.isDouble()) throw wrong("a number");
        const double number = value.toScalar().toDouble();
        const auto narrow = static_cast<float>(number);
        if (parameter.kind == 'f') memcpy(at, &narrow, sizeof narrow);
        else memcpy(at, &number, sizeof number);
      }
    }
  }
  if (!device) throw ArgError("kernel " + kernel.entry + " got no tensor");
  if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0) return;  // no rows, no work; CUDA refuses an empty grid
  const c10::DeviceGuard guard(*device);
  const Driver &api = driver();
  api.enter(device->index());

  LaunchAttribute attributes[2] = {};
  unsigned attributeCount = 0;
  if (clusterBlocks > 1 || tiles || overlap) {
    int major = 0;
    api.check(api.attribute(&major, kCapabilityMajor, device->index()), "compute capability");
    if (major < 9 && (clusterBlocks > 1 || tiles))
      throw ArgError("kernel " + kernel.entry + " uses " + (tiles ? "tiles" : "clusters") + ", which need compute capability 9.0; " + device->str() + " has " + std::to_string(major) + ".x");
    if (clusterBlocks > 1) attributes[attributeCount++] = {kClusterDimension, {cluster[0], cluster[1], cluster[2]}};
    if (major >= 9 && overlap) attributes[attributeCount++] = {kProgrammaticStreamSerialization, {1}};
  }
  // Only now: a tensor of no elements has no map, and needs none where the grid is empty too.
  for (size_t i = 0; tiles && i < count; ++i) {
    if (kernel.parameters[i].box.empty()) continue;
    const std::string what = "kernel " + kernel.entry + ": parameter " + std::to_string(i);
    const Tensor &tensor = args[head + i].toTensor();
    if (tensor.numel() == 0) throw ArgError(what + " expects a tensor with elements, got " + describe(args[head + i]));
    storage[i] = encodeTiles(tensor, kernel.parameters[i], what);
  }
  void *function = kernel.on(device->index(), sharedBytes);
  const LaunchConfig config{{grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}, sharedBytes, currentStream(device->index()), attributes, attributeCount};
  api.check(api.launch(&config, function, pointers.data(), nullptr), ("launching " + kernel.entry).c_str());
}

std::vector<CudaDevice> cudaDevices() {
  const Driver &api = driver();
  std::vector<CudaDevice> found;
  int count = 0;
  if (!api.library || api.init(0) != 0 || api.deviceCount(&count) != 0) return found;
  for (int i = 0; i < count; ++i) {
    char name[256] = {};
    size_t bytes = 0;
    int major = 0, minor = 0, multiprocessors = 0;
    api.deviceName(name, sizeof name - 1, i);
    api.totalMemory(&bytes, i);
    api.attribute(&major, kCapabilityMajor, i);
    api.attribute(&minor, kCapabilityMinor, i);
    api.attribute(&multiprocessors, kMultiprocessorCount, i);
    found.push_back({name, static_cast<double>(bytes), major, minor, multiprocessors});
  }
  return found;
}

}  // namespace whetstone
