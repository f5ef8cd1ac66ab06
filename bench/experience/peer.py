"""TRL's generation and scoring of one GRPO step: asked by a line with a JSON workload, answers with the seconds it took.

The completions, their rewards by a function, the reference's log-probabilities and advantages; as in any step on policy, the policy's
own log-probabilities are left to the training pass.
"""

import json
import os
import sys
import tempfile
import time

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast, logging
from trl import GRPOConfig, GRPOTrainer

logging.disable_progress_bar()
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # What the libraries print is not an answer.
trainers = {}


def reward(completions, **_):
    return [float(len(completion) % 7) for completion in completions]


def trainer_of(work):
    key = json.dumps(work)
    if key not in trainers:
        tokenizer = PreTrainedTokenizerFast(
            tokenizer_file=os.path.join(work["tokenizer"], "tokenizer.json"),
            eos_token="<|end|>",
            pad_token="<|end|>",
            padding_side="left",
        )
        args = GRPOConfig(
            output_dir=tempfile.mkdtemp(prefix="whetstone-peer-"),
            per_device_train_batch_size=len(work["prompts"]) * work["n"],
            num_generations=work["n"],
            max_completion_length=work["tokens"],
            generation_kwargs={"min_new_tokens": work["tokens"]},
            beta=0.01,
            use_cpu=True,
            bf16=False,
            gradient_checkpointing=False,
            report_to="none",
        )
        model = AutoModelForCausalLM.from_pretrained(work["model"], dtype=torch.float32)
        trainers[key] = GRPOTrainer(
            model=model,
            reward_funcs=reward,
            args=args,
            train_dataset=Dataset.from_dict({"prompt": work["prompts"]}),
            processing_class=tokenizer,
        )
        trainers[key].model.train()
    return trainers[key]


def run(work):
    trainer = trainer_of(work)
    rows = [{"prompt": prompt} for prompt in work["prompts"] for _ in range(work["n"])]
    start = time.perf_counter()
    found = trainer._generate_and_score_completions(rows)
    took = time.perf_counter() - start
    assert found["completion_ids"].shape == (len(rows), work["tokens"]), found["completion_ids"].shape
    assert found["ref_per_token_logps"].shape == found["completion_ids"].shape
    assert torch.isfinite(found["advantages"]).all()
    return took


for line in sys.stdin:
    print(json.dumps(run(json.loads(line))), file=answers, flush=True)
