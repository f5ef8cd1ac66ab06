"""Log-probabilities of rows with images by transformers: reads a JSON of what to load, prints a JSON of what came out."""
import json, sys
import torch
from safetensors.torch import load_file
from transformers import AutoImageProcessor, AutoModelForImageTextToText

asked = json.load(sys.stdin)
torch.set_num_threads(1)
# transformers asks whether a graph is captured; a build for CUDA without CUDA's libraries crashes on the question.
if not torch.cuda.is_available():
    torch.cuda.is_current_stream_capturing = lambda: False
    torch.cuda.graphs.is_current_stream_capturing = lambda: False
answers = []
# The processor of the export, on pixels that have the size the model reads.
processor = AutoImageProcessor.from_pretrained(asked["models"][0]["directory"])
pixels = load_file(asked["media"])
for one in asked["models"]:
    model = AutoModelForImageTextToText.from_pretrained(one["directory"], dtype=torch.float32, attn_implementation="eager")
    if one.get("adapter"):
        from peft import PeftModel
        model = PeftModel.from_pretrained(model, one["adapter"])
    model.eval()
    rows = []
    for row in asked["rows"]:
        ids = torch.tensor([row["ids"]])
        inputs = dict(input_ids=ids, attention_mask=torch.ones_like(ids), position_ids=torch.tensor(row["positions"])[:, None])
        if row["media"]:
            frames = [pixels[f"{m['name']}.resized"][0].permute(2, 0, 1) for m in row["media"]]
            made = processor(images=frames, do_resize=False, return_tensors="pt")
            assert made.image_grid_thw.tolist() == [m["grid"] for m in row["media"]]
            inputs.update(pixel_values=made.pixel_values, image_grid_thw=made.image_grid_thw)
        with torch.no_grad():
            logits = model(**inputs).logits[0].float()
        chosen = torch.log_softmax(logits[:-1], -1).gather(1, ids[0, 1:, None])[:, 0]
        rows.append(chosen.tolist())
    answers.append(rows)
    del model
print(json.dumps(answers))
