import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, isStepCount, streamText, tool } from 'ai'
import { beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { countTextTokens } from '../../src/providers/count-tokens.ts'
import { encodeWav, toneSamples } from '../../tools/simulated-providers/tasks/speech-audio.ts'
import { eventually } from '../helpers/eventually.ts'
import { expectLedgerInOrder } from '../helpers/ledger.ts'
import { type Caller, type OpenEvents, openEvents, type ReceivedEvent } from '../helpers/open-events.ts'
import { postAs } from '../helpers/requests.ts'
import { testStack } from '../helpers/resources.ts'

const WORDS = 60
const QUESTION = [{ role: 'user', content: 'Tell me about rail yards.' }]
const FIVE_CALLS = 'Use add, then add, then add, then add, then add.'
const FIVE_RESULTS = /result 1; result 2; result 3; result 4; result 5/
/** The call of a loop of five that no answer comes to, which is its fourth turn. */
const LOST_TURN = 4
const EMBEDDINGS = {
  kind: 'embeddings',
  dimensions: 8,
  list_price: { prompt: '1.06', completion: '0' },
  rate: { prompt: '1.00', completion: '0' },
}

/** An event as its surface writes it; null for what is no JSON. */
// biome-ignore lint/suspicious/noExplicitAny: each surface has fields of its own
type Written = any

const written = ({ data }: ReceivedEvent): Written => (data === '[DONE]' ? null : JSON.parse(data))

interface Surface {
  path: string
  body: Record<string, unknown>
  model: string
  /** What an event shows of the answer. */
  shown: (event: Written) => string
  /** What a whole answer says. */
  said: (answer: Written) => string
  isEnd: (event: ReceivedEvent) => boolean
}

const SURFACES: Record<string, Surface> = {
  '/v2/chat/completions': {
    path: '/v2/chat/completions',
    body: { messages: QUESTION },
    model: 'chat',
    shown: (chunk) => chunk?.choices[0]?.delta.content ?? '',
    said: ({ choices }) => choices[0].message.content,
    isEnd: ({ data }) => data === '[DONE]',
  },
  '/v1/messages': {
    path: '/v1/messages',
    body: { messages: QUESTION, max_tokens: 500 },
    model: 'native',
    shown: ({ delta }) => delta?.text ?? '',
    said: ({ content }) => content[0].text,
    isEnd: ({ name }) => name === 'message_stop',
  },
  '/v1/responses': {
    path: '/v1/responses',
    body: { input: QUESTION[0]!.content },
    model: 'chat',
    shown: ({ type, delta }) => (type === 'response.output_text.delta' ? delta : ''),
    said: ({ output }) => output[0].content[0].text,
    isEnd: ({ name }) => name === 'response.completed',
  },
}
const PATHS = Object.keys(SURFACES)

/** The models that a surface asks for; a provider counts the calls of each name apart. */
const modelsOf = ({ path, model }: Surface) => {
  const at = model === 'native' ? 'delta' : 'alpha'
  const wire = model === 'native' ? ('anthropic-messages' as const) : ('chat-completions' as const)
  const tag = path.replace(/\W/g, '')
  const offer = (behaviour: string) => [{ at, wire, model: `words-${WORDS}.${behaviour}.tag-${tag}` }]
  return {
    [`stalls${path}`]: offer('stall-after-10'),
    [`streamed${path}`]: offer('flaky-1-hang-after-role'),
    [`whole${path}`]: offer('flaky-1-hang'),
  }
}

let caller: Caller

// Calls that nobody takes over would be answered after two minutes, when the wait for a first token ends.
const stack = testStack({
  processes: ['dispatch'],
  environment: { JOB_LOCK_MS: '2000' },
  models: {
    ...Object.assign({}, ...Object.values(SURFACES).map(modelsOf)),
    'embed/hangs-once': {
      ...EMBEDDINGS,
      offers: [{ at: 'alpha', model: 'dimensions-8.flaky-1-hang', cost: '0' }],
    },
    'hear/hangs-once': {
      kind: 'transcription',
      unit: 'second',
      list_price: { prompt: '0', completion: '0', units: '100' },
      rate: undefined,
      offers: [{ at: 'alpha', model: 'flaky-1-hang.tag-hear', cost: '0' }],
    },
    'loop/whole': [{ at: 'alpha', model: `words-${WORDS}.every-${LOST_TURN}-hang.tag-whole` }],
    'loop/streamed': [
      { at: 'alpha', model: `words-${WORDS}.every-${LOST_TURN}-hang-after-role.tag-streamed` },
    ],
    'thinks/stalls': {
      reasoning: true,
      offers: [{ at: 'alpha', model: `reasoning-40.words-${WORDS}.stall-after-10` }],
    },
    'calls/stalls': [{ at: 'alpha', model: `words-${WORDS}.stall-after-2.tag-calls` }],
  },
})
beforeAll(async () => {
  const { accountId, key } = await stack.account('5.00')
  for (const surface of ['responses', 'embeddings', 'audio.transcriptions'])
    await stack.command('admin', 'surface', 'open', surface, '--account', accountId)
  caller = { url: stack.url, key }
})

const post = async (path: string, body: object): Promise<Written> => {
  const response = await postAs(caller.key, stack.url + path, body)
  return { status: response.status, ...((await response.json()) as object) }
}

/** The transcript of a recording, which is uploaded. */
async function transcribe(): Promise<Written> {
  const body = new FormData()
  body.append('model', 'hear/hangs-once')
  body.append('file', new Blob([new Uint8Array(encodeWav(toneSamples(2.6, 1)))]), 'meeting.wav')
  const response = await fetch(`${stack.url}/v1/audio/transcriptions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${caller.key}` },
    body,
  })
  return { status: response.status, ...((await response.json()) as object) }
}

const streamOf = ({ path, body }: Surface, model: string) =>
  openEvents(caller, path, { ...body, model, stream: true })

/** Opens a stream and awaits that it has shown something. */
async function begun(
  opening: Promise<OpenEvents>,
  shown: Surface['shown'],
  characters: number,
): Promise<OpenEvents> {
  const open = await opening
  await open.until(() => textOf(open, shown).length >= characters)
  return open
}

const textOf = ({ events }: OpenEvents, shown: Surface['shown']): string =>
  events.map((event) => shown(written(event))).join('')

/** Awaits that so many calls of models of this kind came to their providers, the last of which is left without an answer. */
const reached = (tag: string, calls = 1) =>
  eventually(() =>
    expect(
      stack.providers.log.requests
        .filter(({ model }) => model!.split('.').includes(tag))
        .map(({ state }) => state),
    ).toEqual([...Array.from({ length: calls - 1 }, () => 'finished'), 'open']),
  )

const record = (id: string) => {
  const callId = id.replace(/^[a-z]+_/, 'chatcmpl_')
  return stack.postgres.callRecord.findUniqueOrThrow({ where: { id: callId } })
}

/** An agent of the AI SDK that calls a tool five times, a call a turn. */
async function runLoop(kind: 'whole' | 'streamed') {
  const { chatModel } = createOpenAICompatible({
    name: 'shuntyard',
    baseURL: `${stack.url}/v2`,
    apiKey: caller.key,
  })
  let calls = 0
  const add = tool({
    description: 'Adds.',
    inputSchema: z.object({ a: z.number(), b: z.number() }),
    execute: async () => `result ${++calls}`,
  })
  const generate = kind === 'whole' ? generateText : streamText
  const result = await generate({
    model: chatModel(`loop/${kind}`),
    prompt: FIVE_CALLS,
    tools: { add },
    stopWhen: isStepCount(7),
    maxRetries: 0,
  })
  return { text: await result.text, calls }
}

const CALL_BODY = {
  model: 'calls/stalls',
  stream: true,
  messages: [{ role: 'user', content: 'Use find_train to "Basel" from platform 7.' }],
  tools: [
    {
      type: 'function',
      function: {
        name: 'find_train',
        parameters: {
          type: 'object',
          properties: { town: { type: 'string' }, platform: { type: 'integer' } },
        },
      },
    },
  ],
}
const reasoningOf = (chunk: Written): string => chunk?.choices[0]?.delta.reasoning ?? ''
const argumentsOf = (chunk: Written): string =>
  chunk?.choices[0]?.delta.tool_calls?.[0].function?.arguments ?? ''

describe('a dispatch worker that is killed', () => {
  const cut = new Map<string, OpenEvents>()
  const streamed = new Map<string, OpenEvents>()
  const whole = new Map<string, Written>()
  let thought: OpenEvents
  let called: OpenEvents
  let embedded: Written
  let heard: Written
  let loops: Array<{ text: string; calls: number }>

  beforeAll(async () => {
    const surfaces = Object.values(SURFACES)
    const looping = Promise.all((['whole', 'streamed'] as const).map(runLoop))
    await Promise.all([reached('tag-whole', LOST_TURN), reached('tag-streamed', LOST_TURN)])
    const streaming = surfaces.map((surface) => streamOf(surface, `streamed${surface.path}`))
    const asking = surfaces.map(({ path, body }) => post(path, { ...body, model: `whole${path}` }))
    const hearing = transcribe()
    const embedding = post('/v1/embeddings', { model: 'embed/hangs-once', input: 'a text' })
    const path = '/v2/chat/completions'
    ;[thought, called] = await Promise.all([
      begun(
        openEvents(caller, path, { model: 'thinks/stalls', messages: QUESTION, stream: true }),
        reasoningOf,
        20,
      ),
      begun(openEvents(caller, path, CALL_BODY), argumentsOf, 1),
    ])
    for (const surface of surfaces)
      cut.set(surface.path, await begun(streamOf(surface, `stalls${surface.path}`), surface.shown, 30))
    const hangs = ['flaky-1-hang', 'flaky-1-hang-after-role']
    await eventually(() =>
      expect(
        stack.providers.log.requests.filter(
          ({ model, state }) => state === 'open' && hangs.some((name) => model!.split('.').includes(name)),
        ),
      ).toHaveLength(2 * surfaces.length + 2),
    )
    await stack.dispatch[0]!.kill()
    await Promise.all([...cut.values(), thought, called].map(({ end }) => end))
    await stack.startDispatch()
    for (const [index, surface] of surfaces.entries()) {
      streamed.set(surface.path, await streaming[index]!)
      whole.set(surface.path, await asking[index])
    }
    await Promise.all([...streamed.values()].map(({ end }) => end))
    embedded = await embedding
    heard = await hearing
    loops = await looping
    await expectLedgerInOrder(stack)
  }, 300_000)

  test.each(PATHS)(
    'before the first content of a stream of %s: another gives all of it, charged once',
    async (path) => {
      const { shown, isEnd } = SURFACES[path]!
      const { status, events } = streamed.get(path)!
      expect(status).toBe(200)
      expect(events.filter(isEnd)).toHaveLength(1)
      expect(isEnd(events.at(-1)!)).toBe(true)
      expect(textOf({ events } as OpenEvents, shown).split(' ')).toHaveLength(WORDS)
      expect(await latest(`streamed${path}`)).toMatchObject({ status: 'completed', completionTokens: WORDS })
    },
  )

  test.each(PATHS)('during a whole answer of %s: another gives it, charged once', async (path) => {
    const answer = whole.get(path)
    expect(answer.status === 200 || answer.status === 'completed').toBe(true)
    expect(SURFACES[path]!.said(answer).split(' ')).toHaveLength(WORDS)
    expect(await record(answer.id)).toMatchObject({ status: 'completed', completionTokens: WORDS })
  })

  test.each(PATHS)(
    'in the middle of a stream of %s: it ends as broken, and costs what was shown',
    async (path) => {
      const { shown, isEnd } = SURFACES[path]!
      const open = cut.get(path)!
      expect(open.events.some(isEnd)).toBe(false)
      const charged = await latest(`stalls${path}`)
      expect(charged).toMatchObject({ status: 'interrupted', errorCode: 'all_providers_failed' })
      expect(charged.completionTokens).toBe(await countTextTokens(textOf(open, shown)))
      expect(charged.chargePico).toBeLessThanOrEqual(charged.holdPico)
    },
  )

  test('a stream of a killed worker ends in the error format of each surface', () => {
    const lastOf = (path: string) => cut.get(path)!.events.at(-1)!
    expect(written(lastOf('/v2/chat/completions'))).toMatchObject({
      choices: [{ finish_reason: 'error' }],
      error: { code: 'all_providers_failed' },
    })
    expect(lastOf('/v1/messages').name).toBe('error')
    expect(written(lastOf('/v1/messages'))).toMatchObject({
      type: 'error',
      error: { type: 'api_error', code: 'all_providers_failed' },
    })
    expect(cut.get('/v1/messages')!.events.map(({ name }) => name)).not.toContain('message_delta')
    expect(lastOf('/v1/responses').name).toBe('response.failed')
    expect(written(lastOf('/v1/responses')).response).toMatchObject({
      status: 'failed',
      error: { code: 'all_providers_failed' },
    })
  })

  test('after reasoning was shown, or half of a tool call: it costs that', async () => {
    for (const [open, model, shown] of [
      [thought, 'thinks/stalls', reasoningOf],
      [called, 'calls/stalls', argumentsOf],
    ] as const) {
      expect(written(open.events.at(-1)!)).toMatchObject({ choices: [{ finish_reason: 'error' }] })
      const charged = await latest(model)
      expect(charged).toMatchObject({ status: 'interrupted', errorCode: 'all_providers_failed' })
      expect(charged.completionTokens).toBe(await countTextTokens(textOf(open, shown)))
    }
  })

  test('during an embedding: another gives it, charged once', async () => {
    expect(embedded.data[0].embedding).toHaveLength(8)
    expect(await record(embedded.id)).toMatchObject({
      status: 'completed',
      chargePico: BigInt(embedded.usage.prompt_tokens) * 1_000_000n,
    })
  })

  test('during a transcription: another reads the file again, charged once, and nothing of it stays', async () => {
    expect(heard).toMatchObject({ status: 200, text: expect.stringMatching(/\S/) })
    expect(await latest('hear/hangs-once')).toMatchObject({ status: 'completed', units: 3 })
    const stored = () => readdir(join(stack.environment.DATA_DIR!, 'bodies'))
    await eventually(async () => expect(await stored()).toEqual([]))
  })

  test('a tool loop continues after its worker is killed in the middle of a turn, whole or streamed', () => {
    for (const { text, calls } of loops) {
      expect(text).toMatch(FIVE_RESULTS)
      expect(calls).toBe(5)
    }
  })
})

const latest = (requestedModel: string) =>
  stack.postgres.callRecord.findFirstOrThrow({ where: { requestedModel }, orderBy: { id: 'desc' } })
