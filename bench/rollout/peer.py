"""transformers' generate on a model directory: asked by a line with a JSON requestState, answers with the seconds it took."""

import json
import sys
import time

import torch
from transformers import AutoModelForCausalLM, LogitsProcessor, logging

torch.set_grad_enabled(False)
logging.disable_progress_bar()
models = {}


def load(path, dtype, device):
    key = (path, dtype, device)
    if key not in models:
        model = AutoModelForCausalLM.from_pretrained(path, dtype=getattr(torch, dtype)).to(device)
        models[key] = model.eval()
    return models[key]


class EndAt(LogitsProcessor):
    """Forces the end-of-sequence token when a row has its length, and suppresses it before."""

    def __init__(self, lengths, prompt, eos):
        self.lengths, self.prompt, self.eos = lengths, prompt, eos

    def __call__(self, ids, scores):
        done = ids.shape[1] - self.prompt + 1 >= self.lengths
        scores[:, self.eos] = -torch.inf
        scores[done] = -torch.inf
        scores[done, self.eos] = 0
        return scores


def run(requestState):
    model = load(requestState["model"], requestState["dtype"], requestState["device"])
    prompts = requestState["prompts"]
    n = requestState["n"]
    width = max(len(prompt) for prompt in prompts)
    ids = torch.tensor([[0] * (width - len(p)) + p for p in prompts], device=requestState["device"])
    mask = torch.tensor([[0] * (width - len(p)) + [1] * len(p) for p in prompts], device=requestState["device"])
    lengths = torch.tensor(requestState["lengths"], device=requestState["device"])
    processor = EndAt(lengths, width, requestState["eos"])
    torch.manual_seed(0)
    if requestState["device"] != "cpu":
        torch.cuda.synchronize()
    start = time.perf_counter()
    out = model.generate(
        ids,
        attention_mask=mask,
        do_sample=True,
        temperature=1.0,
        top_k=0,
        top_p=1.0,
        num_return_sequences=n,
        max_new_tokens=max(requestState["lengths"]),
        eos_token_id=requestState["eos"],
        pad_token_id=0,
        logits_processor=[processor],
    )
    if requestState["device"] != "cpu":
        torch.cuda.synchronize()
    took = time.perf_counter() - start
    assert out.shape[0] == len(prompts) * n
    return took


for line in sys.stdin:
    print(json.dumps(run(json.loads(line))), flush=True)
