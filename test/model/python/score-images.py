"""Log-probabilities of rows with images by transformers: model, processor files and config come from one directory.

usage: score-images.py DIRECTORY < {"rows": [{"ids": [...], "positions": [[...], [...], [...]], "images": ["a.png", ...]}]}
"""
import json
import sys

import torch
from PIL import Image
from transformers import AutoImageProcessor, AutoModelForImageTextToText

directory = sys.argv[1]
processor = AutoImageProcessor.from_pretrained(directory)
model = AutoModelForImageTextToText.from_pretrained(directory, dtype=torch.float32).eval()
found = []
for row in json.load(sys.stdin)["rows"]:
    ids = torch.tensor([row["ids"]])
    given = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "position_ids": torch.tensor(row["positions"])[:, None]}
    if row["images"]:
        images = [Image.open(path).convert("RGB") for path in row["images"]]
        given |= dict(processor(images=images, return_tensors="pt"))
    with torch.no_grad():
        logits = model(**given).logits[0].float()
    found.append(logits[:-1].log_softmax(-1).gather(1, ids[0, 1:, None])[:, 0].tolist())
print(json.dumps(found))
