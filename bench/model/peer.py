"""The same work in transformers. Reads "model workload pass" per line, answers with the seconds of one pass as JSON."""

import json
import os
import resource
import sys
import time

import torch
from transformers import Qwen2Config, Qwen2ForCausalLM

torch.set_num_threads(2)
SHAPES = json.load(open(os.path.join(os.path.dirname(__file__), "shapes.json")))
MODELS = {}


def model(name):
    if name not in MODELS:
        shape = {k: v for k, v in SHAPES[name].items() if k != "batch"}
        config = Qwen2Config(**shape, max_position_embeddings=512, tie_word_embeddings=True, rope_theta=1e6)
        MODELS[name] = Qwen2ForCausalLM(config)
    return MODELS[name]


def batch(name, lengths):
    """Right-padded ids, mask; the lengths are those bench/model/main.mjs uses."""
    longest = max(lengths)
    ids = torch.randint(0, SHAPES[name]["vocab_size"], (len(lengths), longest))
    mask = torch.arange(longest)[None, :] < torch.tensor(lengths)[:, None]
    return ids, mask.long()


def logprobs(net, ids, mask):
    logits = net(input_ids=ids, attention_mask=mask).logits[:, :-1]
    return torch.log_softmax(logits, -1).gather(-1, ids[:, 1:, None]).squeeze(-1)


def forward(net, ids, mask):
    with torch.no_grad():
        logprobs(net, ids, mask)


def make_train(net):
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4, fused=True)

    def train(net, ids, mask):
        real = mask[:, 1:].float()
        loss = -(logprobs(net, ids, mask) * real).sum() / real.sum()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    return train


TRAIN = {}
BATCHES = {}
for line in sys.stdin:
    name, lengths, what = line.strip().split(" ")
    net = model(name)
    lengths = json.loads(lengths)
    ids, mask = BATCHES.setdefault(line, batch(name, lengths))
    if len(set(lengths)) == 1:
        mask = torch.ones_like(mask)
    if what == "forward":
        net.eval()
        work = forward
    else:
        net.train()
        work = TRAIN.setdefault(name, make_train(net))
    if what == "memory":
        torch.randn(8, 8) @ torch.randn(8, 8)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        work(net, ids, mask)
        print(json.dumps((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024), flush=True)
        continue
    if (name, what) not in TRAIN:
        work(net, ids, mask)
        TRAIN[(name, what)] = True
    start = time.perf_counter()
    work(net, ids, mask)
    print(json.dumps(time.perf_counter() - start), flush=True)
