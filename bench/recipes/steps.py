"""The stages of the recipes by TRL, on the same model, rows and batch sizes, timed per optimiser step.

  python bench/recipes/steps.py sft|grpo --model DIR --data gsm8k-train.jsonl --steps N
  python bench/recipes/steps.py reward|dpo --model DIR --data pairs.jsonl --steps N    pairs as recipes/hh-rlhf writes them

Prints one line of JSON: the median and the shortest step, tokens per second where TRL counts them, and the peak of GPU memory.
"""
import argparse
import json
import re
import time
import uuid

import datasets.fingerprint as fingerprint
import torch

# `datasets` pickles functions to name its cache, which fails with some versions of pyarrow. Nothing here uses the cache.
fingerprint.Hasher.hash = classmethod(lambda cls, value: uuid.uuid4().hex)
fingerprint.generate_fingerprint = lambda dataset: uuid.uuid4().hex

import trl
from datasets import Dataset
from transformers import AutoModelForSequenceClassification, AutoTokenizer, TrainerCallback

flags = argparse.ArgumentParser()
flags.add_argument("stage", choices=["sft", "grpo", "reward", "dpo"])
flags.add_argument("--model", required=True)
flags.add_argument("--data", required=True)
flags.add_argument("--steps", type=int, default=8)
given = flags.parse_args()
rows = [json.loads(line) for line in open(given.data)]


class StepTimes(TrainerCallback):
    ends = []

    def on_step_end(self, *_, **__):
        torch.cuda.synchronize()
        StepTimes.ends.append(time.perf_counter())


def question(row):
    text = row["question"] + "\nThink step by step, and end with #### and the number."
    return [{"role": "user", "content": text}]


def last_number(text):
    found = re.findall(r"-?[\d,]*\.?\d+", text.split("####")[-1])
    return found[-1].replace(",", "") if found else None


def right(completions, answer, **_):
    said = [completion[0]["content"] for completion in completions]
    return [float("####" in text and last_number(text) == last_number(target)) for text, target in zip(said, answer)]


common = dict(
    output_dir="/tmp/trl-out",
    report_to=[],
    logging_steps=1,
    save_strategy="no",
    bf16=True,
    gradient_checkpointing=False,
    disable_tqdm=True,
    max_steps=given.steps,
)
extra = dict(callbacks=[StepTimes()])
if given.stage == "sft":
    data = Dataset.from_list(
        [{"prompt": question(row), "completion": [{"role": "assistant", "content": row["answer"]}]} for row in rows]
    )
    config = trl.SFTConfig(**common, per_device_train_batch_size=64, learning_rate=2e-4, max_length=1024)
    trainer = trl.SFTTrainer(model=given.model, args=config, train_dataset=data, **extra)
elif given.stage == "grpo":
    data = Dataset.from_list([{"prompt": question(row), "answer": row["answer"]} for row in rows])
    config = trl.GRPOConfig(
        **common,
        per_device_train_batch_size=128,
        gradient_accumulation_steps=8,
        num_generations=16,
        max_completion_length=256,
        learning_rate=1e-5,
        lr_scheduler_type="constant",
        beta=0.001,
        temperature=1.0,
        loss_type="grpo",
    )
    trainer = trl.GRPOTrainer(model=given.model, reward_funcs=right, args=config, train_dataset=data, **extra)
elif given.stage == "reward":
    data = Dataset.from_list([{name: row[name] for name in ("prompt", "chosen", "rejected")} for row in rows])
    config = trl.RewardConfig(**common, per_device_train_batch_size=32, learning_rate=2e-5, max_length=1024)
    model = AutoModelForSequenceClassification.from_pretrained(given.model, num_labels=1, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(given.model)
    model.config.pad_token_id = tokenizer.pad_token_id
    trainer = trl.RewardTrainer(model=model, args=config, processing_class=tokenizer, train_dataset=data, **extra)
else:
    data = Dataset.from_list([{name: row[name] for name in ("prompt", "chosen", "rejected")} for row in rows])
    config = trl.DPOConfig(**common, per_device_train_batch_size=32, learning_rate=1e-5, max_length=1024, beta=0.1)
    trainer = trl.DPOTrainer(model=given.model, args=config, train_dataset=data, **extra)
trainer.train()
seconds = sorted(after - before for before, after in zip(StepTimes.ends, StepTimes.ends[1:]))
print(
    json.dumps(
        {
            "stage": given.stage,
            "trl": trl.__version__,
            "steps": len(StepTimes.ends),
            "medianSeconds": round(seconds[len(seconds) // 2], 3),
            "leastSeconds": round(seconds[0], 3),
            "peakGiB": round(torch.cuda.max_memory_allocated() / 2**30, 1),
        }
    )
)
