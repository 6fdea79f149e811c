import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import OpenAI, { AuthenticationError, NotFoundError } from 'openai'
import { VERSION } from 'openai/version'
import { type Check, type GateContext, SkippedCheck } from '../check.ts'
import { TOOL_ARGUMENTS, TOOL_BODY } from './chat-answer-checks.ts'
import { CHAT_BODY } from './chat-request-checks.ts'

const PYTHON_PROGRAM = join(import.meta.dirname, 'openai_client.py')
const PYTHON_TIMEOUT_MS = 60_000

type Create = OpenAI.ChatCompletionCreateParamsNonStreaming

async function node({ url, key, fetch }: GateContext): Promise<string> {
  const clientOf = (apiKey: string) =>
    new OpenAI({ apiKey, baseURL: `${url}/v1`, maxRetries: 0, logLevel: 'off', fetch })
  const { completions } = clientOf(key).chat
  const whole = await completions.create(CHAT_BODY as Create)
  const content = whole.choices[0]?.message.content ?? ''
  assert.match(content, /\w/)
  assert.equal(whole.usage?.total_tokens, whole.usage!.prompt_tokens + whole.usage!.completion_tokens)
  let streamed = ''
  for await (const chunk of await completions.create({ ...(CHAT_BODY as Create), stream: true }))
    streamed += chunk.choices[0]?.delta.content ?? ''
  assert.equal(streamed, content)
  const final = await completions.stream(TOOL_BODY as Create & { stream?: true }).finalChatCompletion()
  const [call] = final.choices[0]?.message.tool_calls ?? []
  assert.equal(call?.type, 'function')
  assert.deepEqual(JSON.parse(call.function.arguments), TOOL_ARGUMENTS)
  const none = completions.create({ ...(CHAT_BODY as Create), model: 'gate/none' })
  await assert.rejects(none.asResponse(), NotFoundError)
  const stranger = clientOf('sk-sy-none').chat.completions.create(CHAT_BODY as Create)
  await assert.rejects(stranger.asResponse(), AuthenticationError)
  return `openai ${VERSION}`
}

async function python({ url, key, python: interpreter }: GateContext): Promise<string> {
  if ('missing' in interpreter) throw new SkippedCheck(interpreter.missing)
  const { stdout } = await promisify(execFile)(interpreter.command, [PYTHON_PROGRAM], {
    timeout: PYTHON_TIMEOUT_MS,
    env: {
      OPENAI_BASE_URL: `${url}/v1`,
      OPENAI_API_KEY: key,
      GATE_CHAT: JSON.stringify(CHAT_BODY),
      GATE_TOOLS: JSON.stringify(TOOL_BODY),
      GATE_ARGUMENTS: JSON.stringify(TOOL_ARGUMENTS),
    },
  })
  return stdout.trim()
}

/** The official client libraries, unmodified. */
export const OPENAI_CLIENT_CHECKS: readonly Check[] = [
  { name: 'openai for Node', subject: 'client libraries', run: node },
  { name: 'openai for Python', subject: 'client libraries', run: python },
]
