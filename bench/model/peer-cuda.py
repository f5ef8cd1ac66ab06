"""The same training step in transformers, eager. Reads a list of lengths per line, answers with seconds; "memory": peak bytes."""

import json
import sys
import time

import torch
from transformers import Qwen2Config, Qwen2ForCausalLM

STEPS = 4
config = Qwen2Config(
    vocab_size=151936, hidden_size=896, intermediate_size=4864, num_hidden_layers=24, num_attention_heads=14,
    num_key_value_heads=2, max_position_embeddings=4096, tie_word_embeddings=True, rope_theta=1e6,
)
net = Qwen2ForCausalLM(config).to("cuda", torch.bfloat16).train()
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-5, fused=True)


def step(ids, mask):
    logits = net(input_ids=ids, attention_mask=mask).logits[:, :-1]
    nll = torch.nn.functional.cross_entropy(logits.float().flatten(0, 1), ids[:, 1:].flatten(), reduction="none")
    real = (mask[:, 1:] if mask is not None else torch.ones_like(ids[:, 1:])).flatten().float()
    loss = (nll * real).sum() / real.sum()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()


warm = set()
for line in sys.stdin:
    line = line.strip()
    if line == "memory":
        print(json.dumps(torch.cuda.max_memory_allocated()), flush=True)
        torch.cuda.reset_peak_memory_stats()
        continue
    lengths = json.loads(line)
    longest = max(lengths)
    ids = torch.randint(0, 151936, (len(lengths), longest), device="cuda")
    mask = None
    if min(lengths) < longest:
        mask = (torch.arange(longest)[None, :] < torch.tensor(lengths)[:, None]).long().cuda()
    if line not in warm:
        step(ids, mask)
        step(ids, mask)
        warm.add(line)
        torch.cuda.reset_peak_memory_stats()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(STEPS):
        step(ids, mask)
    torch.cuda.synchronize()
    print(json.dumps((time.perf_counter() - start) / STEPS), flush=True)
