"""Stand-in for SGLang's kernel package: any function can be imported, calling one raises. It has no submodules."""


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)

    def absent(*args, **kwargs):
        raise NotImplementedError(f"sgl_kernel.{name} called on a CPU without the kernel package")

    return absent
