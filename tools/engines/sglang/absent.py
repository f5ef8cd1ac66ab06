"""Stand-ins for packages that SGLang imports and a text model on a CPU never uses.

Names can be imported, subclassed and used as decorators; starting a kernel raises. A .pth file loads this; it answers only
where no such package is installed.
"""

import importlib.machinery
import sys
import types

NAMES = ("triton", "IPython", "soundfile")


class Kernel:
    """What @triton.jit makes of a function."""

    def __init__(self, fn):
        self.fn, self.__name__ = fn, getattr(fn, "__name__", str(fn))

    def _no(self, *args, **kwargs):
        raise NotImplementedError(f"GPU kernel {self.__name__} started on a CPU")

    def __getitem__(self, grid):
        return self._no

    __call__ = run = warmup = _no


class Absent(types.ModuleType):
    """A package, a module of it, or a function of that; capitalised names are classes."""

    def __init__(self, name):
        super().__init__(name)
        self.__path__, self.__file__ = [], __file__
        self.__spec__ = importlib.machinery.ModuleSpec(name, LOADER, is_package=True)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        full = self.__name__ + "." + name
        if full in sys.modules:
            return sys.modules[full]
        value = type(name, (), {"__init__": lambda self, *a, **k: None}) if name[0].isupper() else Absent(full)
        setattr(self, name, value)
        return value

    def __call__(self, *args, **kwargs):
        if self.__name__.endswith((".jit", ".autotune", ".heuristics")):
            made = lambda fn: fn if isinstance(fn, Kernel) else Kernel(fn)
            return made(args[0]) if len(args) == 1 and isinstance(args[0], types.FunctionType) else made
        return args[0] if len(args) == 1 and callable(args[0]) and not kwargs else lambda fn: fn

    def __bool__(self):
        return False

    def __iter__(self):
        return iter(())


class Loader:
    def create_module(self, spec):
        return Absent(spec.name)

    def exec_module(self, module):
        if module.__name__ == "triton":
            module.__version__ = "3.8.0"
            module.cdiv = lambda a, b: -(a // -b)
            module.next_power_of_2 = lambda n: 1 << (n - 1).bit_length() if n > 0 else 1


class Finder:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in NAMES:
            return importlib.machinery.ModuleSpec(name, LOADER, is_package=True)


LOADER = Loader()
sys.meta_path.append(Finder())
