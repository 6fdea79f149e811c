import { beforeAll, describe, expect, test } from 'vitest'
import type { Wire } from '../../src/core/catalog/catalog.ts'
import { countTextTokens } from '../../src/providers/count-tokens.ts'
import { testAccount, testStack } from '../helpers/resources.ts'
import { PLAIN_WIRES } from '../helpers/wires.ts'
import { caller, MESSAGES, readStream, recordOf } from './wire.ts'

/** Behaviours of docs/simulated-providers.md. What they lead to is in the tests of the stream. */
const BEHAVIOURS = [
  'words-12',
  'status-400',
  'status-400-context',
  'status-400-policy',
  'status-401',
  'status-402',
  'status-403',
  'status-404',
  'status-408',
  'status-429',
  'status-429-retry-1',
  'status-500',
  'status-503',
  'reset',
  'hang',
  'slow-headers',
  'hang-after-headers',
  'hang-after-role',
  'error-body-200',
  'html-200',
  'cut-after-5',
  'reset-after-5',
  'end-after-5',
  'error-event-0',
  'error-event-5',
  'stall-after-5',
  'flaky-1',
  'slow-headers-300',
  'malformed-event',
  'missing-done',
  'missing-usage',
  'absurd-usage',
  'negative-usage',
  'gzip',
  'ignore-stream',
  'crlf',
  'comments',
  'latency-200',
  'reasoning-40',
  'finish-content_filter',
  'empty',
]
const WAYS = ['streamed', 'whole'] as const
type Way = (typeof WAYS)[number]

/** Words by which the simulated providers of all wires name themselves, their models, ids, headers and errors. */
const UPSTREAM =
  /zanzibar|xyzzy|simulated|fp_|upstream-|\borg-|sim-|x-served-by|organization|sk-sim|toolu_|msg_|\breq_|resp-|anthropic|google|candidates|RESOURCE_EXHAUSTED|INVALID_ARGUMENT|PERMISSION|UNAVAILABLE|Overloaded|is overloaded|8192|safety system|filtering policy|Unsupported parameter|<html/

/** Headers whose values the gateway draws or counts anew for each call; their digits may spell any number. */
const OF_THIS_CALL = /^(x-request-id|x-ratelimit-.+|retry-after|date|content-length)$/

const id = (behaviour: string, wire: Wire, way: Way) => `wires/${behaviour}.${wire}.${way}`

/** Each has a provider of its own, so that no breaker carries over from one to another. */
let providers = 0
const offer = (behaviour: string, wire: Wire, way: string) => ({
  at: `zanzibar${providers++}`,
  model: `words-12.tag-xyzzy-${wire}-${way}.${behaviour}`,
  wire,
})

interface Answer {
  status: number
  headers: string
  text: string
  requestId: string
}
/** All calls run at once; each test then looks at its own. */
const answers = new Map<string, Promise<Answer>>()
const BEHAVIOURS_AT_ONCE = 3
/** The gateway counts the tokens of these, and roughly when its threads are busy: they are asked for one at a time. */
const ALONE = ['missing-usage', 'absurd-usage', 'negative-usage']
/** These run into a limit of time, so they go first, and the others do not wait for them. */
const SLOW = ['hang', 'slow-headers', 'hang-after-headers', 'hang-after-role', 'stall-after-5']

const stack = testStack({
  models: {
    ...Object.fromEntries(
      BEHAVIOURS.flatMap((behaviour) =>
        PLAIN_WIRES.flatMap((wire) =>
          WAYS.map((way) => [id(behaviour, wire, way), [offer(behaviour, wire, way)]]),
        ),
      ),
    ),
    ...Object.fromEntries(
      PLAIN_WIRES.map((wire, index) => [
        `rescue/${wire}`,
        [
          { ...offer('words-40.cut-after-7', wire, 'rescue'), cost: '0.10' },
          offer('words-40', PLAIN_WIRES[(index + 1) % PLAIN_WIRES.length]!, 'rescuer'),
        ],
      ]),
    ),
  },
  environment: {
    CONNECT_TIMEOUT_MS: '1000',
    // Only what never comes runs into these, on a busy machine too.
    FIRST_TOKEN_TIMEOUT_MS: '4000',
    LAST_FIRST_TOKEN_TIMEOUT_MS: '5000',
    IDLE_TIMEOUT_MS: '4000',
    ATTEMPTS_PER_CALL: '3',
    RETRY_BUDGET_PERCENT: '100',
    RETRY_BUDGET_FLOOR: '10000',
  },
})
const owner = testAccount(stack, '20.00')
const call = caller(stack, owner)
beforeAll(async () => {
  const begin = (behaviours: string[]) =>
    Promise.all(
      behaviours.flatMap((behaviour) =>
        PLAIN_WIRES.flatMap((wire) =>
          WAYS.map((way) => {
            const answer = answerOf(id(behaviour, wire, way), way)
            answers.set(id(behaviour, wire, way), answer)
            return answer
          }),
        ),
      ),
    )
  // Two threads count. One that has to read its vocabulary first may run out of time on a busy machine, and its
  // count is rough then.
  await Promise.all([countTextTokens('warm'), countTextTokens('warm')])
  for (const behaviour of ALONE) {
    for (const wire of PLAIN_WIRES) {
      for (const way of WAYS) {
        const model = id(behaviour, wire, way)
        answers.set(model, answerOf(model, way))
        await answers.get(model)
      }
    }
  }
  const slow = begin(SLOW)
  const others = BEHAVIOURS.filter((behaviour) => !SLOW.includes(behaviour) && !ALONE.includes(behaviour))
  for (let first = 0; first < others.length; first += BEHAVIOURS_AT_ONCE) {
    await begin(others.slice(first, first + BEHAVIOURS_AT_ONCE))
  }
  await slow
  await stack.settled(owner.accountId)
})

async function answerOf(model: string, way: Way): Promise<Answer> {
  const response = await call({ model, stream: way === 'streamed', max_tokens: 400 })
  const text = await response.text()
  return {
    status: response.status,
    headers: JSON.stringify(
      [...response.headers].map(([name, value]) => [name, OF_THIS_CALL.test(name) ? 'VALUE' : value]),
    ),
    requestId: response.headers.get('x-request-id')!,
    text: text
      .replace(/chatcmpl_[0-9A-Z]{26}/g, 'chatcmpl_ID')
      .replace(/"created":\d{10}\b/g, '"created":0')
      .replace(/"request_id":"[^"]*"/g, '"request_id":"ID"')
      .replaceAll(model, 'MODEL'),
  }
}

/** What the ledger keep of a call, as far as it may not depend on who served it. */
async function recordedOf({ requestId }: Answer) {
  const record = await stack.postgres.callRecord.findFirstOrThrow({ where: { requestId } })
  const { status, errorCode, finishReason, promptTokens, completionTokens } = record
  const { usageSource, usageClamped, chargePico, attempts } = record
  return {
    ...{ status, errorCode, finishReason, completionTokens, usageSource, usageClamped },
    attempts: (attempts as unknown[]).length,
    // Of an answer that broke off some wires have told the prompt's tokens by then; those of others are counted.
    ...(status !== 'interrupted' && { promptTokens, chargePico }),
  }
}

describe.each(PLAIN_WIRES.filter((wire) => wire !== 'chat-completions'))(
  'a provider that speaks %s',
  (wire) => {
    const cases = BEHAVIOURS.flatMap((behaviour) => WAYS.map((way) => ({ behaviour, way })))

    test.each(cases)(
      'with $behaviour looks and costs as on any other wire, $way',
      async ({ behaviour, way }) => {
        const usual = await answers.get(id(behaviour, 'chat-completions', way))!
        const answer = await answers.get(id(behaviour, wire, way))!
        expect({ status: answer.status, text: answer.text }).toEqual({
          status: usual.status,
          text: usual.text,
        })
        expect(await recordedOf(answer)).toEqual(await recordedOf(usual))
      },
    )

    test.each(cases)('with $behaviour is in no byte of its answer, $way', async ({ behaviour, way }) => {
      const { text, headers } = await answers.get(id(behaviour, wire, way))!
      expect(text).not.toMatch(UPSTREAM)
      expect(headers).not.toMatch(UPSTREAM)
    })
  },
)

test.each(PLAIN_WIRES)('a stream that breaks on %s is carried on by another wire', async (wire) => {
  const model = `rescue/${wire}`
  const response = await call({ model, stream: true, provider: { sort: 'price' } })
  const stream = readStream(await response.text())
  expect(stream.isDone).toBe(true)
  expect(stream.content.split(' ')).toHaveLength(40)
  expect(stream.content).toContain(MESSAGES[0]!.content)
  await stack.settled(owner.accountId)
  expect((await recordOf(stack, response)).attempts).toHaveLength(2)
})
