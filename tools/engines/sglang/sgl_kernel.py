"""Stand-in for SGLang's kernel package: any function can be imported, calling one raises. It has no submodules."""

import torch


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)

    def absent(*args, **kwargs):
        raise NotImplementedError(f"sgl_kernel.{name} called on a CPU without the kernel package")

    return absent


# Operators that files look up when they are imported; the processor of Qwen's vision-language models imports such files.
_operators = torch.library.Library("sgl_kernel", "FRAGMENT")
for _name in (
    "fused_sigmoid_mul_cpu",
    "fused_qk_gemma_rmsnorm_cpu",
    "fused_qk_gemma_rmsnorm_with_gate_cpu",
    "fused_qkvzba_split_reshape_cat_contiguous_cpu",
    "fused_input_proj_cpu",
):
    _operators.define(_name + "(Tensor a) -> Tensor")
