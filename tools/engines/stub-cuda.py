"""Lets the CUDA builds of torch and torchvision be imported without NVIDIA's packages (5 GB that a CPU has no use for).

The CUDA libraries they link are replaced by stubs of a few kilobytes, with the symbols that are looked for and no more. Run with the
virtual environment's python after torch (and torchvision, where it is wanted) are installed. Needs gcc and binutils.
"""

import os
import re
import subprocess
import sysconfig
import tempfile

PACKAGES = sysconfig.get_paths()["purelib"]
LIB = os.path.join(PACKAGES, "torch", "lib")
USERS = ["libtorch_python.so", "libtorch_cpu.so", "libc10_cuda.so", "libtorch.so", "libshm.so"]
# Its library had another name before torchvision 0.29.
for name in ("_C_stable.so", "_C.so"):
    if os.path.exists(os.path.join(PACKAGES, "torchvision", name)):
        USERS.append("../../torchvision/" + name)
# Each library by the prefix of its functions.
CUDA_LIBRARIES = {
    "libcudart.so.13": "cuda",
    "libcupti.so.13": "cupti",
    "libcudnn.so.9": "cudnn",
    "libcufile.so.0": "cuFile",
    "libnccl.so.2": "nccl",
}
TORCH_CUDA = r"_Z(T[ISV])?N?K?(2at|3c10|4c10d|5torch|3sdp)|(aoti_)?torch_.*cuda"
UNUSED = ("libtorch_cuda_linalg.so", "libtorch_nvshmem.so", "libcaffe2_nvrtc.so")
TYPE_INFO = "_ZTVN10__cxxabiv117__class_type_infoE+16"

version_of = {}


def symbols(name, flag):
    found = set()
    listed = subprocess.run(["nm", "-D", flag, os.path.join(LIB, name)], capture_output=True, text=True, check=True).stdout
    for line in listed.splitlines():
        symbol, *version = re.split("@+", line.split()[-1])
        if version:
            version_of[symbol] = version[0]
        found.add(symbol)
    return found


def define(symbol):
    """The assembly of one symbol."""
    function = [f".globl {symbol}", f".type {symbol},@function", f"{symbol}:"]
    data = [".data", ".p2align 3", f".globl {symbol}", f".type {symbol},@object"]
    if symbol.startswith("_ZTI"):  # a type_info: a real one, for pybind11 reads its name
        return [*data, f".size {symbol},16", f"{symbol}: .quad {TYPE_INFO}", ".quad 1f", f'1: .asciz "{symbol[4:]}"', ".text"]
    if symbol.startswith(("_ZTV", "_ZTS", "_ZTT")):
        return [*data, f".size {symbol},512", f"{symbol}: .zero 512", ".text"]
    if symbol.startswith("_ZN4c10d16ProcessGroupNCCL7OptionsC"):  # made at import as a default argument: it needs a vtable
        return [
            *function, "lea 8f+16(%rip),%rax", "mov %rax,(%rdi)", "movq $0,8(%rdi)", "movq $0,16(%rdi)", "7: ret",
            ".data", ".p2align 3", f"6: .quad {TYPE_INFO}", ".quad 5f", '5: .asciz "N4c10d16ProcessGroupNCCL7OptionsE"',
            ".p2align 3", "8: .quad 0", ".quad 6b", *[".quad 7b"] * 16, ".text",
        ]  # fmt: skip
    if symbol.startswith("_Z"):  # C++: the address of a page of zeros, which reads as false, null or empty
        return [*function, "lea 9f(%rip),%rax", "ret"]
    # cudaErrorNoDevice, CUPTI_ERROR_NOT_INITIALIZED
    code = 100 if symbol.startswith("cuda") else 15 if symbol.startswith("cupti") else 0
    return [*function, f"mov ${code},%eax", "ret"]


def build(soname, wanted):
    with tempfile.TemporaryDirectory() as folder:
        assembly, version_script = os.path.join(folder, "stub.s"), os.path.join(folder, "stub.map")
        body = [line for symbol in sorted(wanted) for line in define(symbol)]
        end = [".bss", ".p2align 12", "9: .zero 4096", '.section .note.GNU-stack,"",@progbits', ""]
        with open(assembly, "w") as file:
            file.write("\n".join([".text", *body, *end]))
        nodes = {}
        for symbol in wanted:
            if symbol in version_of:
                nodes.setdefault(version_of[symbol], []).append(symbol)
        with open(version_script, "w") as file:
            file.writelines("%s { global: %s; };\n" % (node, "; ".join(sorted(names))) for node, names in nodes.items())
        target = os.path.join(LIB, soname)
        if os.path.exists(target):
            os.remove(target)
        versions = ["-Wl,--version-script=" + version_script] if nodes else []
        shared = ["gcc", "-shared", "-nostartfiles", "-Wl,-soname," + soname, *versions, "-o", target, assembly, "-lstdc++"]
        subprocess.run(shared, check=True)


undefined = set().union(*(symbols(name, "--undefined-only") for name in USERS))
needed = undefined - set().union(*(symbols(name, "--defined-only") for name in [*USERS, "libc10.so"]))
for soname, prefix in CUDA_LIBRARIES.items():
    build(soname, {symbol for symbol in needed if re.match(f"_*{prefix}[A-Z_]", symbol)})
build("libtorch_cuda.so", {symbol for symbol in needed if re.match(TORCH_CUDA, symbol)})
for name in UNUSED:
    if os.path.exists(os.path.join(LIB, name)):
        os.remove(os.path.join(LIB, name))
