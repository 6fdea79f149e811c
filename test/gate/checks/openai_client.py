"""Calls chat completions with the official client library, unmodified. Prints the library and its version."""

import json
import os

import openai

client = openai.OpenAI(max_retries=0)
chat = json.loads(os.environ["GATE_CHAT"])
tools = json.loads(os.environ["GATE_TOOLS"])

whole = client.chat.completions.create(**chat)
content = whole.choices[0].message.content
assert content, "an empty completion"
assert whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens

chunks = list(client.chat.completions.create(**chat, stream=True))
assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == content

with client.chat.completions.stream(**tools) as stream:
    for _ in stream:
        pass
    final = stream.get_final_completion()
call = final.choices[0].message.tool_calls[0]
assert json.loads(call.function.arguments) == json.loads(os.environ["GATE_ARGUMENTS"])

try:
    client.chat.completions.create(**{**chat, "model": "gate/none"})
    raise AssertionError("an unknown model was served")
except openai.NotFoundError as error:
    assert error.code == "model_not_found"
try:
    openai.OpenAI(api_key="sk-sy-none", max_retries=0).chat.completions.create(**chat)
    raise AssertionError("an unknown key was served")
except openai.AuthenticationError as error:
    assert error.code == "invalid_api_key"

print("openai", openai.__version__)
