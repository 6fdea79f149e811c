"""Runs an agent of five tool turns with the Agents SDK, unmodified. Prints the library and its version."""

import asyncio
import importlib.metadata
import os

from agents import Agent, OpenAIChatCompletionsModel, RunConfig, Runner, function_tool
from openai import AsyncOpenAI

calls = 0


@function_tool
def add(a: float, b: float) -> str:
    """Adds."""
    global calls
    calls += 1
    return f"result {calls}"


async def main() -> None:
    global calls
    model = OpenAIChatCompletionsModel(os.environ["GATE_MODEL"], AsyncOpenAI(max_retries=0))
    agent = Agent(name="Adder", model=model, tools=[add])
    options = {"max_turns": 7, "run_config": RunConfig(tracing_disabled=True)}
    for streamed in (False, True):
        calls = 0
        if streamed:
            result = Runner.run_streamed(agent, os.environ["GATE_PROMPT"], **options)
            async for _ in result.stream_events():
                pass
        else:
            result = await Runner.run(agent, os.environ["GATE_PROMPT"], **options)
        assert "result 1; result 2; result 3; result 4; result 5" in result.final_output, result.final_output
        assert calls == 5, calls


asyncio.run(main())
print("openai-agents", importlib.metadata.version("openai-agents"))
