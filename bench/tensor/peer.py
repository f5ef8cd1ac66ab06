"""The same work in Python's torch. Reads a measurement's name per line, answers with the seconds of one unit as JSON."""

import json
import sys
import time

import torch

torch.set_num_threads(2)
LINKS = 1000


def measure(work, length=0.1):
    """As `time` of bench/harness.mjs."""

    def batch(count):
        start = time.perf_counter()
        for _ in range(count):
            work()
        return time.perf_counter() - start

    count = 1
    while batch(count) < 0.002 and count < 1_000_000:
        count *= 2
    found = []
    end = time.perf_counter() + length
    while time.perf_counter() < end or len(found) < 5:
        found.append(batch(count) / count)
    return sorted(found)[len(found) // 2]


def add(grad):
    a = torch.ones(2, 3, requires_grad=grad)
    b = torch.ones(2, 3)

    def work():
        for _ in range(100):
            a + b

    return measure(work) / 100


def view(grad):
    a = torch.ones(2, 3, requires_grad=grad)

    def work():
        for _ in range(100):
            a.view(3, 2)

    return measure(work) / 100


def add_chain(grad):
    a = torch.ones(2, 3, requires_grad=grad)
    b = torch.ones(2, 3)

    def work():
        x = a
        for _ in range(LINKS):
            x = x + b

    return measure(work) / LINKS


def view_chain(grad):
    a = torch.ones(2, 3, requires_grad=grad)

    def work():
        x = a
        for _ in range(LINKS):
            x = x.view(3, 2)

    return measure(work) / LINKS


def matmul():
    a = torch.randn(1024, 1024)
    b = torch.randn(1024, 1024)
    return measure(lambda: a @ b, 0.2)


def create():
    """A copy out of foreign memory into a new tensor."""
    source = memoryview(bytearray(1 << 24)).cast("f")
    return measure(lambda: torch.frombuffer(source, dtype=torch.float32).clone())


def read():
    """A copy into memory that is there already."""
    tensor = torch.ones(1 << 22)
    target = torch.frombuffer(memoryview(bytearray(1 << 24)).cast("f"), dtype=torch.float32)
    return measure(lambda: target.copy_(tensor))


def train():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    x = torch.randn(32, 64)
    y = torch.randint(0, 10, (32,))

    def step():
        loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)
        optimizer.step()

    return measure(step, 0.2)


work = {
    "version": lambda: torch.__version__,
    "add": lambda: add(False),
    "add+grad": lambda: add(True),
    "view": lambda: view(False),
    "view+grad": lambda: view(True),
    "add chain": lambda: add_chain(False),
    "add chain+grad": lambda: add_chain(True),
    "view chain": lambda: view_chain(False),
    "view chain+grad": lambda: view_chain(True),
    "matmul": matmul,
    "create": create,
    "read": read,
    "train": train,
}
for line in sys.stdin:
    name = line.strip()
    print(json.dumps(work[name]() if name in work else None), flush=True)
