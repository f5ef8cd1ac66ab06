"""
transformers' generate of the same shape: reads how many prompts, samples of each, and topK; answers with the seconds of 128
tokens after 128.
"""

import json
import sys
import time

import torch
from transformers import Qwen2Config, Qwen2ForCausalLM

torch.set_grad_enabled(False)
config = Qwen2Config(
    vocab_size=151936, hidden_size=896, intermediate_size=4864, num_hidden_layers=24, num_attention_heads=14,
    num_key_value_heads=2, max_position_embeddings=4096, tie_word_embeddings=True, rope_theta=1e6,
)
net = Qwen2ForCausalLM(config).to("cuda", torch.bfloat16).eval()
warm = set()


def run(prompts, samples, top_k):
    ids = torch.randint(3, 151936, (prompts, 128), device="cuda")
    out = net.generate(
        ids, attention_mask=torch.ones_like(ids), do_sample=True, temperature=1.0, top_k=top_k, top_p=1.0,
        min_new_tokens=128, max_new_tokens=128, num_return_sequences=samples, pad_token_id=0,
    )
    assert out.shape == (prompts * samples, 256)


for line in sys.stdin:
    given = tuple(map(int, line.split()))
    if given not in warm:
        run(*given)
        warm.add(given)
    torch.cuda.synchronize()
    start = time.perf_counter()
    run(*given)
    torch.cuda.synchronize()
    print(json.dumps(time.perf_counter() - start), flush=True)
