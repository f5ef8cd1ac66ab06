# SGLang for ordinary CPUs, without a GPU's libraries and without its kernel package: it falls back to torch. Read by ../install.sh.
label=SGLang
version=0.5.23
# To be raised with every change that an existing installation must get.
revision=2
index_probe=typing_extensions==4.16.0

install_packages() {
  pip install --no-deps torch==2.14.1 torchvision==0.29.2 "sglang==$version"
  pip install --no-deps -r "$here/sglang/requirements.lock"
  "$python" "$here/stub-cuda.py"
  local packages file
  packages=$(site_packages)
  # torch 2.14 replaces some CUDA kernels by Python ones when it is imported; here are none to replace.
  file=$packages/torch/_native/registry.py
  grep -q 'dispatch_key == "CUDA" and not' "$file" ||
    sed -i 's/^        op_symbol, dispatch_key = key$/&\n        if dispatch_key == "CUDA" and not torch.cuda.is_available(): continue/' "$file"
  has 'dispatch_key == "CUDA" and not' "$file"
  # LoRA pins host memory for copies to a GPU.
  for file in layers.py mem_pool.py backend/torch_backend.py; do
    file=$packages/sglang/srt/lora/$file
    sed -i 's/pin_memory=True/pin_memory=bool(0)/; s/\.pin_memory()/.contiguous()/' "$file"
    has 'pin_memory=bool(0)\|\.contiguous()' "$file"
  done
  # Packages that are imported and, for these models on a CPU, not used.
  cp "$here/sglang/sgl_kernel.py" "$packages/sgl_kernel.py"
  cp "$here/sglang/absent.py" "$packages/_absent.py"
  echo 'import _absent' >"$packages/_absent.pth"
}

# A patch that found nothing to change is the wrong patch.
has() { grep -q -- "$1" "$2" || fail "$2 is not as expected"; }

check_import() {
  SGLANG_USE_CPU_ENGINE=1 TORCHDYNAMO_DISABLE=1 "$python" -W ignore -c 'import sglang.srt.entrypoints.http_server' >/dev/null
}
