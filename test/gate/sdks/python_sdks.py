"""Calls the gateway through the client library that the argument names, and prints the outcome of each row as JSON.

ADDRESS, API_KEY, PNG, WAV and the MODELS of the rows come from the environment.
"""

import asyncio
import base64
import inspect
import json
import os
import sys
import time

from pydantic import BaseModel

BASE = os.environ["ADDRESS"] + "/v2"
KEY = os.environ["API_KEY"]
PNG = os.environ["PNG"]
WAV = os.environ["WAV"]
MODELS = json.loads(os.environ["MODELS"])
IMAGE = f"data:image/png;base64,{PNG}"
TURNS = 5
PROMPT = "Use add, then add, then add, then add, then add."
FIVE_RESULTS = "result 1; result 2; result 3; result 4; result 5"
HELLO = "Say hello."
LOOK = "What is this?"
ONE_IMAGE = "You sent 1 image"
PARTS = [{"type": "text", "text": LOOK}, {"type": "image_url", "image_url": {"url": IMAGE}}]


class Person(BaseModel):
    name: str
    age: int


class Counter:
    def __init__(self):
        self.calls = 0

    def add(self, a: float, b: float) -> str:
        """Adds."""
        self.calls += 1
        return f"result {self.calls}"


def expect(text, wanted=""):
    assert text and wanted in text, text
    return True


async def read_all(stream, text_of):
    parts = [text for text in [text_of(part) async for part in stream] if text]
    assert len(parts) > 1, f"{len(parts)} parts"


async def cancelled(stream_of):
    """Cancels the task of a slow stream after its first part; it must end at once."""
    begun = asyncio.Event()

    async def read():
        async for _ in await stream_of():
            begun.set()

    task = asyncio.create_task(read())
    await asyncio.wait_for(begun.wait(), 20)
    started = time.monotonic()
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        pass
    assert time.monotonic() - started < 5, "the stream went on"


ADD = {
    "type": "function",
    "function": {
        "name": "add",
        "description": "Adds.",
        "parameters": {
            "type": "object",
            "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
            "required": ["a", "b"],
        },
    },
}


NOT_OFFICIAL = "not applicable: it uses some methods of an official library"


def rows_of(plain, stream, tools, structured, images, abort):
    """Every row of a library; a retry is a plain call to a model that fails at first."""
    rows = {"plain": plain, "stream": stream, "tools": tools, "structured": structured}
    return {**rows, "images": images, "abort": abort, "retry": plain, "methods": NOT_OFFICIAL}


async def every_method(client, calls, unserved):
    """Calls each method of a library's resources that the gateway serves, in the order of the table.

    Fails for one that is neither in the table nor among those whose paths are not served, such as a new one.
    """
    methods = set()
    for path in {name.rpartition(".")[0] for name in calls}:
        resource = client
        for name in path.split("."):
            resource = getattr(resource, name)
        own = [name for name, value in vars(type(resource)).items() if inspect.isfunction(value)]
        methods |= {f"{path}.{name}" for name in own if not name.startswith("_")}
    unknown = methods - set(calls) - set(unserved)
    assert not unknown, f"methods that are not tried: {sorted(unknown)}"
    for name, call in calls.items():
        try:
            await call()
        except Exception as error:
            raise AssertionError(f"{name}: {error}") from error


async def drained(stream):
    parts = [part async for part in stream]
    assert parts, "nothing came"


def chat_rows(create, parse):
    """The rows of a library with the calls of the official one."""

    def asked(model, content=HELLO):
        return {"model": model, "messages": [{"role": "user", "content": content}]}

    async def text(model, content=HELLO):
        return (await create(**asked(model, content))).choices[0].message.content

    async def plain(model):
        expect(await text(model))

    async def stream(model):
        chunks = await create(**asked(model), stream=True)
        await read_all(chunks, lambda chunk: chunk.choices[0].delta.content if chunk.choices else "")

    async def tools(model):
        counter = Counter()
        messages = [{"role": "user", "content": PROMPT}]
        while True:
            message = (await create(model=model, messages=messages, tools=[ADD])).choices[0].message
            if not message.tool_calls:
                break
            messages.append(message.model_dump(exclude_none=True))
            for call in message.tool_calls:
                result = counter.add(**json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
        expect(message.content, FIVE_RESULTS)
        assert counter.calls == TURNS

    async def images(model):
        expect(await text(model, PARTS), ONE_IMAGE)

    async def abort(model):
        await cancelled(lambda: create(**asked(model), stream=True))

    async def structured(model):
        Person.model_validate(await parse(asked(model)))

    return rows_of(plain, stream, tools, structured, images, abort)


def official():
    from openai import AsyncOpenAI, NotFoundError

    client = AsyncOpenAI(api_key=KEY, base_url=BASE)
    completions = client.chat.completions

    async def parse(asked):
        return (await completions.parse(**asked, response_format=Person)).choices[0].message.parsed

    async def methods(model):
        chat = {"model": model, "messages": [{"role": "user", "content": HELLO}]}
        asked = {"model": model, "input": HELLO}
        image = {"model": "gate/image", "prompt": LOOK, "size": "64x64"}
        recording = {"model": "gate/hear", "file": ("a.wav", base64.b64decode(WAV), "audio/wav")}
        responses = client.responses
        kept = []

        async def streamed(manager, final):
            async with manager as stream:
                await drained(stream)
                assert await getattr(stream, final)()

        async def create():
            kept.append((await responses.create(**asked)).id)

        async def retrieve():
            assert (await responses.retrieve(kept[0])).id == kept[0]
            await drained(await responses.retrieve(kept[0], stream=True))

        async def items():
            await drained(responses.input_items.list(kept[0]))

        async def delete():
            await responses.delete(kept[0])
            try:
                await responses.retrieve(kept[0])
            except NotFoundError:
                return
            raise AssertionError("it is still there")

        async def cancel():
            begun = await responses.create(**asked, background=True)
            assert (await responses.cancel(begun.id)).id == begun.id

        calls = {
            "chat.completions.create": lambda: completions.create(**chat),
            "chat.completions.parse": lambda: completions.parse(**chat, response_format=Person),
            "chat.completions.stream": lambda: streamed(completions.stream(**chat), "get_final_completion"),
            "embeddings.create": lambda: client.embeddings.create(model="gate/embed", input=HELLO),
            "moderations.create": lambda: client.moderations.create(model="gate/moderation", input=HELLO),
            "models.list": lambda: drained(client.models.list()),
            "models.retrieve": lambda: client.models.retrieve(model),
            "images.generate": lambda: client.images.generate(**image),
            "images.edit": lambda: client.images.edit(**image, image=("a.png", base64.b64decode(PNG), "image/png")),
            "audio.speech.create": lambda: client.audio.speech.create(model="gate/speech", voice="alloy", input=HELLO),
            "audio.transcriptions.create": lambda: client.audio.transcriptions.create(**recording),
            "audio.translations.create": lambda: client.audio.translations.create(**recording),
            "responses.create": create,
            "responses.parse": lambda: responses.parse(**asked, text_format=Person),
            "responses.stream": lambda: streamed(responses.stream(**asked), "get_final_response"),
            "responses.retrieve": retrieve,
            "responses.input_items.list": items,
            "responses.delete": delete,
            "responses.cancel": cancel,
        }
        unserved = [f"chat.completions.{name}" for name in ["retrieve", "update", "list", "delete"]]
        others = ["images.create_variation", "models.delete", "responses.compact", "responses.connect"]
        await every_method(client, calls, [*unserved, *others])

    return {**chat_rows(completions.create, parse), "methods": methods}


def litellm():
    import litellm as library

    library.suppress_debug_info = True

    async def create(model, **asked):
        options = {"api_key": KEY, "api_base": BASE, "num_retries": 2}
        return await library.acompletion(model=f"openai/{model}", **options, **asked)

    async def parse(asked):
        answer = await create(**asked, response_format=Person)
        return json.loads(answer.choices[0].message.content)

    return chat_rows(create, parse)


def instructor():
    import instructor as library
    from openai import AsyncOpenAI

    client = library.from_openai(AsyncOpenAI(api_key=KEY, base_url=BASE), mode=library.Mode.JSON_SCHEMA)

    async def structured(model):
        asked = {"model": model, "messages": [{"role": "user", "content": HELLO}]}
        Person.model_validate(await client.chat.completions.create(**asked, response_model=Person))

    async def images(model):
        asked = {"model": model, "messages": [{"role": "user", "content": PARTS}]}
        Person.model_validate(await client.chat.completions.create(**asked, response_model=Person))

    reason = "not applicable: every call of this library is for an object"
    return {
        "plain": reason,
        "stream": reason,
        "tools": reason,
        "structured": structured,
        "images": images,
        "abort": reason,
        "retry": structured,
        "methods": NOT_OFFICIAL,
    }


def langchain():
    from langchain_core.messages import HumanMessage, ToolMessage
    from langchain_openai import ChatOpenAI

    def chat(model):
        return ChatOpenAI(model=model, api_key=KEY, base_url=BASE)

    async def plain(model):
        expect((await chat(model).ainvoke(HELLO)).text)

    async def stream(model):
        await read_all(chat(model).astream(HELLO), lambda chunk: chunk.text)

    async def tools(model):
        counter = Counter()
        bound = chat(model).bind_tools([ADD])
        history = [HumanMessage(PROMPT)]
        while (answer := await bound.ainvoke(history)).tool_calls:
            history.append(answer)
            for call in answer.tool_calls:
                history.append(ToolMessage(counter.add(**call["args"]), tool_call_id=call["id"]))
        expect(answer.text, FIVE_RESULTS)
        assert counter.calls == TURNS

    async def structured(model):
        Person.model_validate(await chat(model).with_structured_output(Person).ainvoke(HELLO))

    async def images(model):
        expect((await chat(model).ainvoke([HumanMessage(PARTS)])).text, ONE_IMAGE)

    async def abort(model):
        async def start():
            return chat(model).astream(HELLO)

        await cancelled(start)

    return rows_of(plain, stream, tools, structured, images, abort)


def llama_index():
    from llama_index.core.base.llms.types import ChatMessage, ImageBlock, TextBlock
    from llama_index.core.tools import FunctionTool
    from llama_index.llms.openai_like import OpenAILike

    def llm(model):
        options = {"is_chat_model": True, "is_function_calling_model": True, "context_window": 100_000}
        return OpenAILike(model=model, api_key=KEY, api_base=BASE, **options)

    def hello(content=HELLO):
        return [ChatMessage(role="user", content=content)]

    async def plain(model):
        expect((await llm(model).achat(hello())).message.content)

    async def stream(model):
        await read_all(await llm(model).astream_chat(hello()), lambda part: part.delta)

    async def tools(model):
        counter = Counter()
        add = FunctionTool.from_defaults(fn=counter.add, name="add", description="Adds.")
        history = hello(PROMPT)
        client = llm(model)
        while True:
            answer = await client.achat_with_tools([add], chat_history=history)
            calls = client.get_tool_calls_from_response(answer, error_on_no_tool_call=False)
            if not calls:
                break
            history.append(answer.message)
            for call in calls:
                result = counter.add(**call.tool_kwargs)
                more = {"tool_call_id": call.tool_id}
                history.append(ChatMessage(role="tool", content=result, additional_kwargs=more))
        expect(answer.message.content, FIVE_RESULTS)
        assert counter.calls == TURNS

    async def structured(model):
        from llama_index.core.prompts import PromptTemplate

        Person.model_validate(await llm(model).astructured_predict(Person, PromptTemplate(HELLO)))

    async def images(model):
        blocks = [TextBlock(text=LOOK), ImageBlock(image=base64.b64decode(PNG), image_mimetype="image/png")]
        answer = await llm(model).achat([ChatMessage(role="user", blocks=blocks)])
        expect(answer.message.content, ONE_IMAGE)

    async def abort(model):
        await cancelled(lambda: llm(model).astream_chat(hello()))

    return rows_of(plain, stream, tools, structured, images, abort)


def pydantic_ai():
    from pydantic_ai import Agent, BinaryContent, NativeOutput
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    def agent(model, **more):
        provider = OpenAIProvider(base_url=BASE, api_key=KEY)
        return Agent(OpenAIChatModel(model, provider=provider), **more)

    async def plain(model):
        expect((await agent(model).run(HELLO)).output)

    async def deltas(model):
        async with agent(model).run_stream(HELLO) as result:
            async for delta in result.stream_text(delta=True, debounce_by=None):
                yield delta

    async def stream(model):
        await read_all(deltas(model), lambda delta: delta)

    async def tools(model):
        counter = Counter()
        adder = agent(model)
        adder.tool_plain(counter.add)
        expect((await adder.run(PROMPT)).output, FIVE_RESULTS)
        assert counter.calls == TURNS

    async def structured(model):
        Person.model_validate((await agent(model, output_type=NativeOutput(Person)).run(HELLO)).output)

    async def images(model):
        image = BinaryContent(base64.b64decode(PNG), media_type="image/png")
        expect((await agent(model).run([LOOK, image])).output, ONE_IMAGE)

    async def abort(model):
        async def start():
            return deltas(model)

        await cancelled(start)

    return rows_of(plain, stream, tools, structured, images, abort)


def openai_agents():
    from agents import Agent, OpenAIChatCompletionsModel, RunConfig, Runner, function_tool
    from openai import AsyncOpenAI
    from openai.types.responses import ResponseTextDeltaEvent

    options = {"max_turns": TURNS + 2, "run_config": RunConfig(tracing_disabled=True)}

    def agent(model, **more):
        client = AsyncOpenAI(api_key=KEY, base_url=BASE)
        return Agent(name="Adder", model=OpenAIChatCompletionsModel(model, client), **more)

    async def plain(model):
        expect((await Runner.run(agent(model), HELLO, **options)).final_output)

    def events(model):
        return Runner.run_streamed(agent(model), HELLO, **options).stream_events()

    async def stream(model):
        def delta(event):
            data = getattr(event, "data", None)
            return data.delta if isinstance(data, ResponseTextDeltaEvent) else ""

        await read_all(events(model), delta)

    async def tools(model):
        counter = Counter()
        adder = agent(model, tools=[function_tool(counter.add)])
        expect((await Runner.run(adder, PROMPT, **options)).final_output, FIVE_RESULTS)
        assert counter.calls == TURNS

    async def structured(model):
        result = await Runner.run(agent(model, output_type=Person), HELLO, **options)
        Person.model_validate(result.final_output)

    async def images(model):
        content = [{"type": "input_text", "text": LOOK}, {"type": "input_image", "image_url": IMAGE}]
        result = await Runner.run(agent(model), [{"role": "user", "content": content}], **options)
        expect(result.final_output, ONE_IMAGE)

    async def abort(model):
        async def start():
            return events(model)

        await cancelled(start)

    return rows_of(plain, stream, tools, structured, images, abort)


SDKS = {
    "openai": official,
    "langchain-openai": langchain,
    "llama-index-llms-openai-like": llama_index,
    "pydantic-ai-slim": pydantic_ai,
    "openai-agents": openai_agents,
    "instructor": instructor,
    "litellm": litellm,
}


async def outcome_of(run, model):
    if isinstance(run, str):
        return run
    try:
        await asyncio.wait_for(run(model), 60)
        return "passed"
    except Exception as error:
        return f"failed: {type(error).__name__} {error}"


async def main():
    rows = SDKS[sys.argv[1]]()
    print(json.dumps({row: await outcome_of(run, MODELS[row]) for row, run in rows.items()}))


asyncio.run(main())
