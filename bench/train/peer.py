"""TRL's trainers: asked by a line with a JSON workload, answer with the seconds a step took, or those of a token.

Everything is float32 on the CPU with the trainers' defaults; gradient checkpointing, logging and saving are off, which is to their advantage.
Steps are timed from the end of one to the end of the next, the first ones left out.
"""

import json
import os
import statistics
import sys
import tempfile
import time

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast, TrainerCallback, logging
from trl import DPOConfig, DPOTrainer, GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer

logging.disable_progress_bar()
logging.set_verbosity_error()
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # What the libraries print is not an answer.


class Clock(TrainerCallback):
    def __init__(self):
        self.ends = []

    def on_step_end(self, args, state, control, **_):
        self.ends.append(time.perf_counter())


def reward(completions, **_):
    return [float(len(completion) % 7) for completion in completions]


def read(path):
    with open(path) as file:
        return [json.loads(line) for line in file]


def shared(work):
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=os.path.join(work["model"], "tokenizer.json"), eos_token="<|end|>", pad_token="<|end|>"
    )
    model = AutoModelForCausalLM.from_pretrained(work["model"], dtype=torch.float32)
    clock = Clock()
    settings = dict(
        output_dir=tempfile.mkdtemp(prefix="whetstone-peer-"),
        per_device_train_batch_size=work["batch"],
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        report_to="none",
        logging_strategy="no",
        save_strategy="no",
        disable_tqdm=True,
    )
    return dict(model=model, processing_class=tokenizer, callbacks=[clock]), settings, clock


def grpo(work):
    """Seconds of a step, and of a completion's token."""
    parts, settings, clock = shared(work)
    parts["processing_class"].padding_side = "left"
    trainer = GRPOTrainer(
        reward_funcs=reward,
        args=GRPOConfig(
            **settings,
            max_steps=work["steps"] + 1,
            num_generations=work["n"],
            max_completion_length=work["tokens"],
            generation_kwargs=dict(min_new_tokens=work["tokens"]) if work["equal"] else None,
            beta=0.01,
        ),
        train_dataset=Dataset.from_list(read(work["data"])),
        **parts,
    )
    lengths = []
    compute = trainer._compute_loss

    def counted(model, inputs):
        lengths.append(int(inputs["completion_mask"].sum()))
        return compute(model, inputs)

    trainer._compute_loss = counted
    trainer.train()
    steps = [after - before for before, after in zip(clock.ends, clock.ends[1:])]
    assert len(steps) == work["steps"] == len(lengths) - 1, (steps, lengths)
    if work["equal"]:
        assert lengths[-1] == work["batch"] * work["tokens"], lengths
        return statistics.median(steps)
    return sum(steps) / sum(lengths[1:])


def epochs(trainer, clock, tokens):
    """Seconds of a token in the second of two epochs."""
    trainer.train()
    half = len(clock.ends) // 2
    assert half > 0 and len(clock.ends) == 2 * half, clock.ends
    return (clock.ends[-1] - clock.ends[half - 1]) / tokens


def sft(work):
    parts, settings, clock = shared(work)
    trainer = SFTTrainer(
        args=SFTConfig(**settings, num_train_epochs=2, packing=work["packing"], max_length=work["length"]),
        train_dataset=Dataset.from_list(read(work["data"])),
        **parts,
    )
    return epochs(trainer, clock, sum(len(row["input_ids"]) for row in trainer.train_dataset))


def dpo(work):
    parts, settings, clock = shared(work)
    trainer = DPOTrainer(
        args=DPOConfig(**settings, num_train_epochs=2, precompute_ref_log_probs=work["precompute"], max_length=None),
        train_dataset=Dataset.from_list(read(work["data"])),
        **parts,
    )
    tokens = sum(
        2 * len(row["prompt_ids"]) + len(row["chosen_ids"]) + len(row["rejected_ids"]) for row in trainer.train_dataset
    )
    return epochs(trainer, clock, tokens)


for line in sys.stdin:
    work = json.loads(line)
    print(json.dumps(dict(grpo=grpo, sft=sft, dpo=dpo)[work["kind"]](work)), file=answers, flush=True)
