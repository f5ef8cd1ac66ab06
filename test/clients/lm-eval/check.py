"""lm-eval's log-likelihoods against the server's own prompt_logprobs. Usage: check.py RESULTS BASE_URL"""
import glob
import json
import sys

import openai

[path] = glob.glob(f"{sys.argv[1]}/**/samples_*.jsonl", recursive=True)
client = openai.OpenAI(base_url=sys.argv[2], api_key="secret", max_retries=0)
worst, count = 0.0, 0
for line in open(path):
    sample = json.loads(line)
    for arguments, [[loglikelihood, _]] in zip(sample["arguments"].values(), sample["resps"]):
        context, continuation = arguments["arg_0"], arguments["arg_1"]
        tokens = lambda text: client.post("/../tokenize", body={"prompt": text}, cast_to=object)["tokens"]
        ids, start = tokens(context + continuation), len(tokens(context))
        scored = client.completions.create(
            model="tiny", prompt=ids, max_tokens=1, extra_body={"prompt_logprobs": 0}
        ).choices[0]
        rows = scored.model_extra["prompt_logprobs"]
        own = sum(rows[i][str(ids[i])]["logprob"] for i in range(start, len(ids)))
        worst, count = max(worst, abs(own - float(loglikelihood))), count + 1
assert count == 12, count
assert worst < 1e-3, worst
print(f"lm-eval holds: {count} log-likelihoods, at most {worst:.1e} off")
