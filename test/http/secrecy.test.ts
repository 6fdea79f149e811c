import { randomBytes } from 'node:crypto'
import pino from 'pino'
import { beforeAll, describe, expect, test } from 'vitest'
import { queuePrefix } from '../../src/platform/redis/redis-keys.ts'
import { eventually } from '../helpers/eventually.ts'
import { expectAbsent, postgresText, redisText } from '../helpers/everything-stored.ts'
import { getAs, postAs } from '../helpers/requests.ts'
import { testAccount, testStack } from '../helpers/resources.ts'
import { caller, rawExchange, rawRequest } from './wire.ts'

/** Words of the simulated providers' names, models, ids, headers and error texts. */
const UPSTREAM =
  /zanzibar|quillon|xyzzy|simulated|fp_|upstream-|org-|sim-|x-served-by|organization|Rate limit reached|Incorrect API key|8192 tokens|safety system|Unsupported parameter|<html/i

const FAULTS = [
  'words-12',
  'reasoning-5.words-12',
  'refuse',
  'empty',
  'status-400',
  'status-400-context',
  'status-400-policy',
  'status-401',
  'status-402',
  'status-403',
  'status-404',
  'status-408',
  'status-429',
  'status-429-retry-90',
  'status-500',
  'status-503',
  'reset',
  'hang',
  'hang-after-role',
  'error-body-200',
  'html-200',
  'cut-after-5',
  'end-after-5',
  'error-event-5',
  'stall-after-5',
  'malformed-event',
  'gzip',
  'ignore-stream',
  'comments',
  'missing-usage',
  'absurd-usage',
]

const modelOf = (fault: string, way: string) => `secret/${fault}.${way}`

/** What a client says and gets; found nowhere but in its own answers. */
const PROMPT = `prompt-${randomBytes(12).toString('hex')}`
const TOOL = `tool_${randomBytes(12).toString('hex')}`
const IDEMPOTENCY_KEY = `repeat-${randomBytes(12).toString('hex')}`

const logLines: string[] = []
let adminKey: string

const stack = testStack({
  models: {
    ...Object.fromEntries(
      FAULTS.flatMap((fault) =>
        ['streamed', 'whole'].map((way) => [
          modelOf(fault, way),
          [
            { at: 'zanzibar', model: `words-12.tag-xyzzy-${way}.${fault}` },
            { at: 'quillon', model: `words-12.tag-xyzzy-too-${way}.${fault}` },
          ],
        ]),
      ),
    ),
    'secret/echo': [{ at: 'zanzibar', model: 'echo.tag-xyzzy' }],
    'secret/failing-echo': [{ at: 'zanzibar', model: 'echo.tag-xyzzy-failing.cut-after-5' }],
    'secret/paced': [{ at: 'zanzibar', model: 'words-2000.rate-40.tag-xyzzy' }],
  },
  environment: {
    CONNECT_TIMEOUT_MS: '1000',
    FIRST_TOKEN_TIMEOUT_MS: '3000',
    LAST_FIRST_TOKEN_TIMEOUT_MS: '4000',
    IDLE_TIMEOUT_MS: '3000',
    RETRY_BUDGET_FLOOR: '10000',
  },
  // No redaction to lean on: what is not logged cannot leak.
  logger: pino({ level: 'trace' }, { write: (line: string) => void logLines.push(line) }),
})
const owner = testAccount(stack, '20.00')
beforeAll(async () => {
  adminKey = await stack.adminKey()
})

describe('the target', () => {
  test.concurrent.each(
    FAULTS.flatMap((fault) => [
      { fault, stream: true },
      { fault, stream: false },
    ]),
  )('is in no byte of an answer: $fault, streaming $stream', async ({ fault, stream }) => {
    const answer = await rawExchange(
      stack.url,
      rawRequest(owner.key, {
        model: modelOf(fault, stream ? 'streamed' : 'whole'),
        stream,
        messages: [{ role: 'user', content: 'Tell me.' }],
      }),
    )
    expect(answer).toMatch(/^HTTP\/1\.1 \d{3} /)
    // The client's own spelling of the model may come back; it names the fault only.
    expect(answer.replaceAll(/"model":"[^"]*"/g, '')).not.toMatch(UPSTREAM)
  })

  test('is not in the lists of models and prices, nor in refusals', async () => {
    const texts = await Promise.all([
      fetch(`${stack.url}/pricing.json`).then((response) => response.text()),
      getAs(owner.key, `${stack.url}/v1/models`).then((r) => r.text()),
      caller(stack, owner)({ model: 'secret/echo', provider: { only: ['nobody'] } }).then((r) => r.text()),
      caller(stack, owner)({ model: 'secret/none' }).then((r) => r.text()),
    ])
    for (const text of texts) expect(text).not.toMatch(UPSTREAM)
  })
})

const messages = [{ role: 'user', content: `Say ${PROMPT} again and again.`, name: PROMPT }]
const tools = [{ type: 'function', function: { name: TOOL, description: PROMPT, parameters: {} } }]

describe('what a client says', () => {
  test('is in Redis sealed only while its call runs, and not on the dashboard', async () => {
    const leave = new AbortController()
    const call = caller(stack, owner)
    const open = await call(
      { model: 'secret/paced', stream: true, messages, tools },
      { signal: leave.signal },
    )
    expect(open.status).toBe(200)
    const during = await redisText(stack)
    expect(during).toContain('sealedBody')
    expectAbsent(during, [PROMPT, TOOL, owner.key], 'Redis, while the call runs')

    // Jobs of the calls before end while they are looked at.
    await eventually(async () => {
      const keys = await stack.redis.keys(`${queuePrefix(0)}:dispatch:chatcmpl_*`)
      expect(new Set(keys.map((name) => /chatcmpl_\w+/.exec(name)![0])).size).toBe(1)
    })
    const dashboard = await dashboardText()
    expect(dashboard).toContain('chatcmpl_')
    expectAbsent(dashboard, [PROMPT, TOOL, owner.key], 'the dashboard')
    const [jobId] = /chatcmpl_[0-9A-Z]{26}/.exec(dashboard)!
    const stored = JSON.parse((await stack.redis.hget(`${queuePrefix(0)}:dispatch:${jobId}`, 'data'))!)
    expect(dashboard).not.toContain(stored.sealedBody.slice(0, 40))
    leave.abort()
    await stack.providers.log.abortedBy(({ model }) => model === 'words-2000.rate-40.tag-xyzzy')
  })

  test('rests nowhere after the call: not in Redis, not in PostgreSQL, not in a log line', async () => {
    const call = caller(stack, owner)
    const headers = { 'idempotency-key': IDEMPOTENCY_KEY, cookie: `session=${PROMPT}` }
    const answers = await Promise.all([
      call({ model: 'secret/echo', messages: [{ role: 'user', content: `${PROMPT}: use ${TOOL}` }], tools }),
      call({ model: 'secret/echo', messages, stream: true }),
      call(
        { model: 'secret/echo', messages, stream: true, response_format: { type: 'text', of: PROMPT } },
        { headers },
      ),
      call({ model: 'secret/failing-echo', messages }),
      call({ model: 'secret/failing-echo', messages, stream: true }),
      call({ model: modelOf('status-500', 'whole'), messages }),
      call({ model: modelOf('status-400', 'whole'), messages }),
      call({ model: 'secret/echo', messages: [{ role: PROMPT, content: PROMPT }] }),
      call({ model: 'secret/echo', messages, max_tokens: PROMPT }),
      fetch(`${stack.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${owner.key}`, 'content-type': 'application/json' },
        body: `{"broken": "${PROMPT}`,
      }),
      postAs(owner.key, `${stack.url}/v1/embeddings`, { input: PROMPT }),
    ])
    const texts = await Promise.all(answers.map((answer) => answer.text()))
    expect(texts[0]).toContain(TOOL)
    expect(texts[1]).toContain(PROMPT.slice(0, 10))
    for (const refusal of texts.slice(7)) expectAbsent(refusal, [PROMPT, owner.key], 'a refusal')
    await stack.settled(owner.accountId)

    const secrets = [
      PROMPT,
      TOOL,
      owner.key,
      owner.key.slice(10, -4),
      adminKey,
      adminKey.slice(12, -4),
      IDEMPOTENCY_KEY,
    ]
    expectAbsent(await redisText(stack), secrets, 'Redis')
    expectAbsent(await postgresText(stack), secrets, 'PostgreSQL')
    expectAbsent(logLines.join(''), secrets, 'the logs')
    expect(logLines.length).toBeGreaterThan(10)
    expect(await stack.redis.keys(`${queuePrefix(0)}:dispatch:chatcmpl_*`)).toEqual([])
  })
})

/** What the dashboard's own pages ask for: both queues in every state, and each job by itself. */
async function dashboardText(): Promise<string> {
  const headers = { authorization: `Bearer ${adminKey}` }
  const ask = async (path: string) => {
    const response = await fetch(`${stack.url}/admin/queues${path}`, { headers })
    expect({ path, status: response.status }).toEqual({ path, status: 200 })
    return response.text()
  }
  const listsOf = (queue: string) =>
    Promise.all(
      ['latest', 'active', 'waiting', 'completed', 'failed'].map((status) =>
        ask(`/api/queues?activeQueue=${queue}&status=${status}&page=1&jobsPerPage=100`),
      ),
    )
  // Of what is being settled the dispatch queue has no job any more.
  const [dispatched, settling] = await Promise.all([listsOf('dispatch'), listsOf('settlement')])
  const jobIds = new Set(dispatched.flatMap((list) => list.match(/chatcmpl_[0-9A-Z]{26}/g) ?? []))
  expect(jobIds.size).toBeGreaterThan(0)
  const jobs = await Promise.all(
    [...jobIds].flatMap((id) => [ask(`/api/queues/dispatch/${id}`), ask(`/api/queues/dispatch/${id}/logs`)]),
  )
  return [await ask('/'), ...dispatched, ...settling, ...jobs].join('\n')
}

describe('the dashboard', () => {
  test('needs an admin key', async () => {
    for (const path of ['/admin/queues', '/admin/queues/', '/admin/queues/api/queues']) {
      const without = await fetch(stack.url + path)
      expect(without.status).toBe(401)
      expect(without.headers.get('www-authenticate')).toMatch(/^Basic /)
      const ordinary = await getAs(owner.key, stack.url + path)
      expect(ordinary.status).toBe(403)
      const basic = Buffer.from(`admin:${adminKey}`).toString('base64')
      expect((await fetch(stack.url + path, { headers: { authorization: `Basic ${basic}` } })).status).toBe(
        200,
      )
    }
  })

  test('changes nothing', async () => {
    const headers = { authorization: `Bearer ${adminKey}` }
    for (const path of ['dispatch/pause', 'settlement/empty', 'settlement/clean/failed', 'dispatch/add']) {
      const response = await fetch(`${stack.url}/admin/queues/api/queues/${path}`, { method: 'PUT', headers })
      expect(response.status).toBeGreaterThanOrEqual(400)
    }
  })
})
