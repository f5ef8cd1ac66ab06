"""transformers' fast (torchvision) image processor, asked for the seconds that an image takes: `{"files": [...], "threads": 2}`."""
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import torch
import torchvision
import transformers
from PIL import Image
from transformers import Qwen2VLImageProcessor

processor = Qwen2VLImageProcessor(size={"shortest_edge": 3136, "longest_edge": 12845056})


def prepare(file):
    return processor([Image.open(file).convert("RGB")], return_tensors="pt")["pixel_values"].shape


for line in sys.stdin:
    line = line.strip()
    if line == "version":
        print(json.dumps(f"transformers {transformers.__version__}, torchvision {torchvision.__version__}"), flush=True)
        continue
    work = json.loads(line)
    torch.set_num_threads(work["threads"])
    with ThreadPoolExecutor(work["threads"]) as pool:
        prepare(work["files"][0])
        start = time.perf_counter()
        list(pool.map(prepare, work["files"]))
        print(json.dumps((time.perf_counter() - start) / len(work["files"])), flush=True)
