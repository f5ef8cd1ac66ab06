"""The official Python client: plain and streamed completions and chats, models, errors. Usage: openai-client.py BASE_URL"""
import sys

import openai

client = openai.OpenAI(base_url=sys.argv[1], api_key="secret", max_retries=0)
[model] = client.models.list().data
assert client.models.retrieve(model.id).id == model.id

plain = client.completions.create(model=model.id, prompt="Once upon a time", max_tokens=12, n=2, seed=7, logprobs=2)
assert [choice.index for choice in plain.choices] == [0, 1]
assert plain.usage.completion_tokens == sum(len(choice.logprobs.tokens) for choice in plain.choices)
texts = ["", ""]
for chunk in client.completions.create(model=model.id, prompt="Once upon a time", max_tokens=12, n=2, seed=7, stream=True):
    for choice in chunk.choices:
        texts[choice.index] += choice.text
assert texts == [choice.text for choice in plain.choices], (texts, plain)

messages = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "Hello"}]},
]
chat = client.chat.completions.create(
    model=model.id, messages=messages, max_completion_tokens=10, seed=3, logprobs=True, top_logprobs=3
)
assert len(chat.choices[0].logprobs.content) == chat.usage.completion_tokens
streamed, usage = "", None
for chunk in client.chat.completions.create(
    model=model.id, messages=messages, max_completion_tokens=10, seed=3, stream=True, stream_options={"include_usage": True}
):
    usage = chunk.usage or usage
    for choice in chunk.choices:
        streamed += choice.delta.content or ""
assert streamed == chat.choices[0].message.content
assert usage.completion_tokens == chat.usage.completion_tokens

scored = client.completions.create(model=model.id, prompt=[5, 6, 7], max_tokens=0, echo=True, logprobs=0)
assert scored.choices[0].logprobs.token_logprobs[0] is None and len(scored.choices[0].logprobs.tokens) == 3


def refused(kind, **fields):
    try:
        client.chat.completions.create(**{"model": model.id, "messages": messages, **fields})
    except kind as error:
        return error
    raise AssertionError(f"{fields} was not refused")


assert "tool_choice" in str(refused(openai.BadRequestError, tool_choice="required"))
refused(openai.NotFoundError, model="other")
try:
    openai.OpenAI(base_url=sys.argv[1], api_key="wrong", max_retries=0).models.list()
    raise AssertionError("a wrong key was taken")
except openai.AuthenticationError:
    pass
print(f"openai {openai.__version__} holds")
