import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { Agent, tool as agentTool, OpenAIChatCompletionsModel, Runner } from '@openai/agents'
import { generateText, isStepCount, streamText, tool } from 'ai'
import OpenAI from 'openai'
import { z } from 'zod'
import { type Check, type GateContext, SkippedCheck } from '../check.ts'

const TURNS = 5
/** A simulated model calls a tool once for each mention. */
const PROMPT = 'Use add, then add, then add, then add, then add.'
const FIVE_RESULTS = /result 1; result 2; result 3; result 4; result 5/
const NUMBERS = z.object({ a: z.number(), b: z.number() })

const PYTHON_PROGRAM = join(import.meta.dirname, 'openai_agents.py')
const PYTHON_TIMEOUT_MS = 60_000

/** A tool that numbers its results. */
function counter() {
  let calls = 0
  return { execute: async () => `result ${++calls}`, count: () => calls }
}

/**
 * Runs a loop of tools of five turns with the AI SDK, whole and streamed. Rejects if a call or a result is lost.
 * @param baseUrl of the extended contract, such as `http://127.0.0.1:8080/v2`
 * @param model a model of the gateway that calls tools as simulated providers do
 */
export async function runAiSdkLoop(
  baseUrl: string,
  key: string,
  model: string,
  fetch?: GateContext['fetch'],
): Promise<void> {
  const provider = createOpenAICompatible({
    name: 'shuntyard',
    baseURL: baseUrl,
    apiKey: key,
    includeUsage: true,
    ...(fetch && { fetch }),
  })
  for (const generate of [generateText, streamText]) {
    const { execute, count } = counter()
    const add = tool({ description: 'Adds.', inputSchema: NUMBERS, execute })
    const asked = { model: provider(model), prompt: PROMPT, tools: { add }, stopWhen: isStepCount(TURNS + 2) }
    const { text, totalUsage } = await generate(asked)
    assert.match(await text, FIVE_RESULTS)
    assert.equal(count(), TURNS)
    assert.ok(((await totalUsage).outputTokens ?? 0) > TURNS)
  }
}

/** The same with the tool runner of `openai`, whole and streamed. */
async function runOpenAiLoop({ chat }: OpenAI, model: string): Promise<void> {
  for (const stream of [false, true] as const) {
    const { execute, count } = counter()
    const add = {
      name: 'add',
      description: 'Adds.',
      parse: (json: string) => NUMBERS.parse(JSON.parse(json)),
      parameters: z.toJSONSchema(NUMBERS) as Record<string, unknown>,
      function: execute,
    }
    const messages = [{ role: 'user' as const, content: PROMPT }]
    const asked = { model, messages, tools: [{ type: 'function' as const, function: add }] }
    const runner = stream
      ? chat.completions.runTools({ ...asked, stream })
      : chat.completions.runTools({ ...asked, stream })
    assert.match((await runner.finalContent()) ?? '', FIVE_RESULTS)
    assert.equal(count(), TURNS)
  }
}

/** The same with an agent of `@openai/agents`, whole and streamed. */
async function runAgentLoop(client: OpenAI, model: string): Promise<void> {
  for (const stream of [false, true] as const) {
    const { execute, count } = counter()
    const agent = new Agent({
      name: 'Adder',
      model: new OpenAIChatCompletionsModel(client, model),
      tools: [agentTool({ name: 'add', description: 'Adds.', parameters: NUMBERS, execute })],
    })
    const runner = new Runner({ tracingDisabled: true })
    const options = { maxTurns: TURNS + 2 }
    if (stream) {
      const result = await runner.run(agent, PROMPT, { ...options, stream })
      await result.completed
      assert.match(result.finalOutput ?? '', FIVE_RESULTS)
    } else assert.match((await runner.run(agent, PROMPT, options)).finalOutput ?? '', FIVE_RESULTS)
    assert.equal(count(), TURNS)
  }
}

async function runPythonLoop({ url, key, python }: GateContext): Promise<string> {
  if ('missing' in python) throw new SkippedCheck(python.missing)
  const { stdout } = await promisify(execFile)(python.command, [PYTHON_PROGRAM], {
    timeout: PYTHON_TIMEOUT_MS,
    env: { OPENAI_BASE_URL: `${url}/v2`, OPENAI_API_KEY: key, GATE_MODEL: MODEL, GATE_PROMPT: PROMPT },
  })
  return stdout.trim()
}

const MODEL = 'gate/plain'
const clientOf = ({ url, key, fetch }: GateContext) =>
  new OpenAI({ apiKey: key, baseURL: `${url}/v2`, maxRetries: 0, logLevel: 'off', fetch })

/** Agents that people use, unmodified: five turns of a tool, each with all that came before. */
export const AGENT_CHECKS: readonly Check[] = [
  {
    name: 'openai, five turns',
    subject: 'client libraries',
    run: (context) => runOpenAiLoop(clientOf(context), MODEL),
  },
  {
    name: 'ai, five turns',
    subject: 'client libraries',
    run: ({ url, key, fetch }) => runAiSdkLoop(`${url}/v2`, key, MODEL, fetch),
  },
  {
    name: '@openai/agents, five turns',
    subject: 'client libraries',
    run: (context) => runAgentLoop(clientOf(context), MODEL),
  },
  { name: 'openai-agents for Python, five turns', subject: 'client libraries', run: runPythonLoop },
]
