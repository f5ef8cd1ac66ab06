"""The decode step of decode.mjs in Python's torch. Reads a measurement's name per line, answers with seconds as JSON."""

import json
import math
import sys
import time

import torch
import torch.nn.functional as F

LAYERS, HIDDEN, HEADS, KV_HEADS, DIM, INNER, VOCAB, CONTEXT = 24, 896, 14, 2, 64, 4864, 151936, 256
EPS = 1e-6
CUDA = torch.cuda.is_available()


def measure(work, seconds=0.1, runs=8):
    """As `deviceTime` of timing.mjs."""

    def batch(count):
        start = time.perf_counter()
        for _ in range(count):
            work()
        torch.cuda.synchronize()
        return time.perf_counter() - start

    batch(2)
    count = max(2, math.ceil(seconds / (batch(3) / 3)))
    return min(batch(count) / count for _ in range(runs))


def random(*size):
    return (torch.randn(size, device="cuda") * 0.02).to(torch.bfloat16)


def ones(*size):
    return torch.ones(size, device="cuda", dtype=torch.bfloat16)


def make_layer():
    return (
        ones(HIDDEN),
        random(HEADS * DIM, HIDDEN),
        random(HEADS * DIM),
        random(KV_HEADS * DIM, HIDDEN),
        random(KV_HEADS * DIM),
        random(KV_HEADS * DIM, HIDDEN),
        random(KV_HEADS * DIM),
        random(HIDDEN, HEADS * DIM),
        ones(HIDDEN),
        random(INNER, HIDDEN),
        random(INNER, HIDDEN),
        random(HIDDEN, INNER),
    )


def rotate(x, cos, sin):
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat([-b, a], -1) * sin


class Model:
    def __init__(self):
        self.embed = random(VOCAB, HIDDEN)
        self.norm = ones(HIDDEN)
        self.cos = random(1, 1, 1, DIM)
        self.sin = random(1, 1, 1, DIM)
        self.layers = [make_layer() for _ in range(LAYERS)]

    def step(self, cache, batch, ids, position):
        x = F.embedding(ids, self.embed)
        for (norm1, q, q_bias, k, k_bias, v, v_bias, o, norm2, gate, up, down), (keys, values) in zip(self.layers, cache):
            n = torch.rms_norm(x, [HIDDEN], norm1, EPS)
            query = F.linear(n, q, q_bias).view(batch, HEADS, 1, DIM)
            key = F.linear(n, k, k_bias).view(batch, KV_HEADS, 1, DIM)
            value = F.linear(n, v, v_bias).view(batch, KV_HEADS, 1, DIM)
            keys.index_copy_(2, position, rotate(key, self.cos, self.sin))
            values.index_copy_(2, position, value)
            turned = rotate(query, self.cos, self.sin)
            mixed = F.scaled_dot_product_attention(turned, keys, values, enable_gqa=True)
            x = x + F.linear(mixed.view(batch, HIDDEN), o)
            m = torch.rms_norm(x, [HIDDEN], norm2, EPS)
            x = x + F.linear(F.silu(F.linear(m, gate)) * F.linear(m, up), down)
        return F.linear(torch.rms_norm(x, [HIDDEN], self.norm, EPS), self.embed).argmax(-1)


class Case:
    """What one batch size needs; made when it is first asked for."""

    def __init__(self, model, batch):
        cache = [
            (random(batch, KV_HEADS, CONTEXT, DIM), random(batch, KV_HEADS, CONTEXT, DIM)) for _ in range(LAYERS)
        ]
        ids = torch.randint(0, VOCAB, (batch,), device="cuda")
        position = torch.tensor([CONTEXT - 1], device="cuda")
        self.eager = lambda: model.step(cache, batch, ids, position)
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.eager()
        torch.cuda.current_stream().wait_stream(side)
        self.captured = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.captured):
            self.output = self.eager()
        self.graph = self.captured.replay


def answer(model, cases, line):
    if not CUDA:
        return None
    if line == "version":
        return torch.__version__
    what, batch = line.split()
    if batch not in cases:
        cases.clear()
        cases[batch] = Case(model, int(batch))
    return measure(getattr(cases[batch], what))


with torch.no_grad():
    model = Model() if CUDA else None
    cases = {}
    for line in sys.stdin:
        print(json.dumps(answer(model, cases, line.strip())), flush=True)
