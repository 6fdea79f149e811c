import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { publishedStatus, SURFACE_EVIDENCE } from '../../src/core/api/surfaces/surface-evidence.ts'
import { SURFACES, type SurfaceId } from '../../src/core/api/surfaces/surface-registry.ts'
import type { PublishedSurfaceList } from '../../src/core/api/surfaces/surfaces.ts'
import { newId } from '../../src/core/kernel/ids.ts'
import { startStack, type TestStack } from '../helpers/stack.ts'
import { type Check, type GateContext, SUBJECTS, type Subject, type SurfaceGate } from './check.ts'
import { MEDIA_GATES } from './checks/media-checks.ts'
import { GATE_MODELS, LIMITED_REQUESTS_PER_MINUTE } from './gate-models.ts'
import { evidenceOf, renderResults, runGate } from './run-gate.ts'
import { SURFACE_GATES } from './surface-gates.ts'

const CHAT = SURFACE_GATES['chat-completions']!
const RUN = { date: '2027-01-01T00:00:00.000Z', commit: 'abc', contract: 'digest' }
const NO_PYTHON = { missing: 'not part of this test' }

let stack: TestStack
let context: GateContext

beforeAll(async () => {
  // The checks of all surfaces together break the same providers more often than one provider may fail.
  stack = await startStack({ models: GATE_MODELS, environment: { BREAKER_FAILURES: '1000' } })
  context = {
    url: stack.url,
    key: await grantedKey(),
    limitedKey: '',
    fetch,
    python: NO_PYTHON,
    received: (model) =>
      stack.providers.log.requests.filter((request) => request.model === model).map(({ body }) => body),
  }
})
afterAll(() => stack?.close())

/** A key of a new account to which every surface is open that can be opened. */
async function grantedKey(limits: Parameters<TestStack['account']>[1] = {}): Promise<string> {
  const { key, accountId } = await stack.account('20.00', limits)
  const granted = SURFACES.filter(({ access }) => access === 'granted')
  await stack.postgres.surfaceGrant.createMany({
    data: granted.map(({ id }) => ({ id: newId('grant'), surface: id, accountId })),
  })
  return key
}

const limitedKey = () => grantedKey({ requestsPerMinute: LIMITED_REQUESTS_PER_MINUTE })

const PYTHON_CHECKS = ['openai for Python', 'openai-agents for Python, five turns']

/** One check, and nothing said of the other subjects. */
const only = (check: Check) => {
  const others = SUBJECTS.filter((subject) => subject !== check.subject)
  const without = Object.fromEntries(others.map((subject) => [subject, 'not part of this test']))
  return { checks: [check], without: without as Record<Subject, string> }
}

const ALL_CHECKS = Object.values(SURFACE_GATES).flatMap(({ checks }) => checks)
const checkOf = (name: string) => ALL_CHECKS.find((check) => check.name === name)!

test('every other surface passes its checks', async () => {
  const gates = Object.entries(SURFACE_GATES).filter(([, gate]) => gate !== CHAT)
  const byHandler = Map.groupBy(gates, ([id]) => SURFACES.find((surface) => surface.id === id)!.handler)
  // A handler's surfaces at the same time, by keys of their own.
  for (const mounted of byHandler.values()) await Promise.all(mounted.map(passes))
})

async function passes([id, gate]: [string, SurfaceGate]): Promise<void> {
  const keys = { key: await grantedKey(), limitedKey: await limitedKey() }
  const results = await runGate(gate, { ...context, ...keys })
  const others = results.filter(({ outcome }) => outcome !== 'passed')
  expect(
    others.filter(({ name }) => !PYTHON_CHECKS.includes(name)),
    id,
  ).toEqual([])
}

test('chat completions pass every check, and are stable with that evidence', async () => {
  const told: string[] = []
  const results = await runGate(CHAT, { ...context, limitedKey: await limitedKey() }, ({ name }) =>
    told.push(name),
  )
  expect(told).toEqual(CHAT.checks.map(({ name }) => name))
  expect(results.filter(({ outcome }) => outcome === 'failed')).toEqual([])
  expect(results.filter(({ outcome }) => outcome === 'skipped').map(({ name }) => name)).toEqual([
    'openai for Python',
  ])
  const skipped = evidenceOf(results, RUN)
  expect(skipped).toMatchObject({ ...RUN, passed: false })
  expect(skipped.checks['openai for Python']).toBe('skipped: not part of this test')
  expect(publishedStatus('Stable', skipped, RUN.contract)).toBe('Limited')
  const evidence = evidenceOf(
    results.filter(({ outcome }) => outcome === 'passed'),
    RUN,
  )
  expect(evidence).toMatchObject({ ...RUN, passed: true })
  expect(evidence.checks['exact path and method']).toBe('passed')
  expect(publishedStatus('Stable', evidence, RUN.contract)).toBe('Stable')
  expect(renderResults(new Map([['chat-completions', results]]))).toMatch(/passed {3}exact path and method/)
})

/** What a broken gateway does to a request on its way in and to its answer on the way out. */
interface Break {
  request?: (path: string, headers: Headers) => string
  answer?: (
    answer: { status: number; headers: Headers; text: string },
    request: { path: string; body: string },
  ) => void
}

const broken =
  ({ request = (path) => path, answer = () => undefined }: Break): typeof fetch =>
  async (input, init) => {
    const url = new URL(String(input))
    const headers = new Headers(init?.headers)
    const path = request(url.pathname, headers)
    const response = await fetch(new URL(path, url), { ...init, headers })
    const altered = {
      status: response.status,
      headers: new Headers(response.headers),
      text: await response.text(),
    }
    altered.headers.delete('content-length')
    answer(altered, { path: url.pathname, body: String(init?.body ?? '') })
    return new Response(altered.text, altered)
  }

const replaced = (from: string | RegExp, to: string): Break => ({
  answer: (answer) => {
    answer.text = answer.text.replace(from, to)
  },
})
const withoutHeader = (name: string): Break => ({ answer: ({ headers }) => headers.delete(name) })
const statusInstead = (from: number, to: number): Break => ({
  answer: (answer) => {
    if (answer.status === from) answer.status = to
  },
})
const isStream = ({ headers }: { headers: Headers }) =>
  headers.get('content-type')?.startsWith('text/event-stream') === true

const breaksOfTask = (id: string): Array<readonly [check: string, what: string, Break]> => [
  [`${id}: path`, 'another status is told', statusInstead(404, 405)],
  [`${id}: bearer key`, 'there is no challenge', withoutHeader('www-authenticate')],
  [`${id}: required fields`, 'the field is not named', replaced(/"param":"[^"]*"/, '"param":null')],
  [
    `${id}: ignored fields`,
    'they are refused',
    {
      answer: (answer, { body }) => {
        if (body.includes('"unheard_of"')) answer.status = 400
      },
    },
  ],
  [`${id}: answer`, 'the target is named', replaced(/"model":"[^"]*"/, '"model":"quillon"')],
  [
    `${id}: usage as recorded`,
    'the record differs',
    replaced(/"completion_tokens":\d+/, '"completion_tokens":1'),
  ],
  [`${id}: errors`, 'the request id is another', withoutHeader('x-request-id')],
  [`${id}: limits`, 'nothing says when to come back', withoutHeader('retry-after')],
]

/** The bodies of forms are not looked into: it is the second answer of such a check that differs. */
const breaksOfMedia = (id: string): Array<readonly [check: string, what: string, Break]> => {
  let answers = 0
  return [
    ...breaksOfTask(id).filter(([, what]) => !OF_JSON.includes(what)),
    [
      `${id}: ignored fields`,
      'they change the answer',
      {
        answer: (answer) => {
          if (answers++ % 2 === 0) answer.text = `x${answer.text}`
        },
      },
    ],
    [`${id}: answer`, 'its length is not announced', {}],
    [`${id}: usage as recorded`, 'the record differs', replaced(/"units":\d+/, '"units":99')],
    [`${id}: openai for Node`, 'an unknown model has another status', statusInstead(404, 400)],
  ]
}
const OF_JSON = ['they are refused', 'the target is named', 'the record differs']

/** The cost in a usage; a record of a call has `cost_usd` alone. */
const TOLD_COST = /"cost":[\d.e-]+,"cost_usd":"[^"]*"/

const BREAKS: ReadonlyArray<readonly [check: string, what: string, Break]> = [
  [
    'exact path and method',
    'another path serves it too',
    { request: (path) => path.replace(/^\/chat/, '/v1/chat') },
  ],
  ['exact path and method', 'another method is not refused as such', statusInstead(405, 404)],
  ['exact path and method', 'the methods are not named', withoutHeader('allow')],
  ['bearer key and nothing else', 'there is no challenge', withoutHeader('www-authenticate')],
  [
    'bearer key and nothing else',
    'another header authenticates',
    {
      request: (path, headers) => {
        const key = headers.get('x-api-key')
        if (key) headers.set('authorization', `Bearer ${key}`)
        return path
      },
    },
  ],
  ['required fields and ranges', 'the field is not named', replaced(/"param":"[^"]*"/, '"param":null')],
  ['required fields and ranges', 'another status is told', statusInstead(400, 422)],
  [
    'ignored fields change nothing',
    'they change the answer',
    {
      answer: (answer, { body }) => {
        if (body.includes('"seed"')) answer.text = answer.text.replace('"content":"', '"content":"Seeded ')
      },
    },
  ],
  [
    'ignored fields change nothing',
    'they are refused',
    {
      answer: (answer, { body }) => {
        if (body.includes('"unheard_of"')) answer.status = 400
      },
    },
  ],
  ['one error body, true statuses', 'the body is another', replaced(/^\{"error":/, '{"detail":0,"error":')],
  ['one error body, true statuses', 'the request id is another', withoutHeader('x-request-id')],
  ['one error body, true statuses', 'the status of a provider is passed on', statusInstead(502, 500)],
  ['one error body, true statuses', 'a provider is named', replaced('"message":"', '"message":"zanzibar: ')],
  ['limits and their headers', 'nothing says when to come back', withoutHeader('retry-after')],
  ['limits and their headers', 'what remains is not told', withoutHeader('x-ratelimit-remaining-requests')],
  ['limits and their headers', 'another status is told', statusInstead(429, 503)],
  [
    'envelope of a whole answer',
    'a field more',
    replaced('"object":', '"system_fingerprint":"fp","object":'),
  ],
  ['envelope of a whole answer', 'ids of another form', replaced('"chatcmpl_', '"cmpl-')],
  ['envelope of a whole answer', 'the target is named', replaced(/"model":"[^"]*"/, '"model":"words-12"')],
  [
    'envelope of a whole answer',
    'no finish reason',
    replaced(/"finish_reason":"\w+"/, '"finish_reason":null'),
  ],
  ['data-only events to [DONE]', 'no [DONE]', replaced('data: [DONE]\n\n', '')],
  ['data-only events to [DONE]', 'named events', replaced('data: ', 'event: chunk\ndata: ')],
  ['data-only events to [DONE]', 'no role', replaced('"role":"assistant"', '"role":"user"')],
  ['data-only events to [DONE]', 'text is lost', replaced(/"content":"\w+ /, '"content":"')],
  [
    'data-only events to [DONE]',
    'a broken stream looks whole',
    {
      answer: (answer) => {
        if (isStream(answer) && !answer.text.includes('[DONE]')) answer.text += 'data: [DONE]\n\n'
      },
    },
  ],
  ['deltas of a tool call', 'the id is missing', replaced(/"id":"call[^"]*",?/, '')],
  ['deltas of a tool call', 'arguments are cut', replaced('Basel', 'Bas')],
  ['deltas of a tool call', 'the turn ends as text', replaced('"tool_calls"}', '"stop"}')],
  [
    'usage told, streamed and recorded',
    'the total is another',
    replaced(/"total_tokens":\d+/, '"total_tokens":1'),
  ],
  [
    'usage told, streamed and recorded',
    'a stream tells none',
    {
      answer: (answer) => {
        if (isStream(answer)) answer.text = answer.text.replace(/,"usage":\{[^}]*\}/, '')
      },
    },
  ],
  [
    'usage told, streamed and recorded',
    'the record differs',
    {
      answer: (answer, { path }) => {
        if (path.startsWith('/v1/generations'))
          answer.text = answer.text.replace(/"completion_tokens":\d+/, '"completion_tokens":1')
      },
    },
  ],
  ['openai for Node', 'an event is no JSON', replaced('data: {', 'data: {{')],
  ['openai for Node', 'an unknown model has another status', statusInstead(404, 400)],
  ['path of the extended contract', 'another method is not refused as such', statusInstead(405, 404)],
  ['bearer key for extended calls', 'there is no challenge', withoutHeader('www-authenticate')],
  ['refusals that name the field', 'the field is not named', replaced(/"param":"[^"]*"/, '"param":null')],
  ['refusals that name the field', 'another status is told', statusInstead(422, 503)],
  [
    'known fields forwarded, others ignored',
    'they are refused',
    {
      answer: (answer, { body }) => {
        if (body.includes('"unheard_of"')) answer.status = 400
      },
    },
  ],
  ['extended completion', 'no cost is told', replaced(TOLD_COST, '"cost":null')],
  ['extended completion', 'log probabilities are lost', replaced(/"token":"\w+ ?"/, '"token":""')],
  ['extended events to [DONE]', 'no [DONE]', replaced('data: [DONE]\n\n', '')],
  ['extended events to [DONE]', 'text is lost', replaced(/"content":"\w+ /, '"content":"')],
  ['a call of a tool and its result', 'arguments are cut', replaced('Basel', 'Bas')],
  ['usage and cost as charged', 'another cost is told', replaced(TOLD_COST, '"cost":0.5,"cost_usd":"0.5"')],
  ['errors of extended calls', 'the request id is another', withoutHeader('x-request-id')],
  ['limits of extended calls', 'nothing says when to come back', withoutHeader('retry-after')],
  ...['openai, five turns', 'ai, five turns', '@openai/agents, five turns'].map(
    (name) => [name, 'results of tools are lost', replaced('result 3', 'result')] as const,
  ),
  ...['embeddings', 'rerank', 'moderations'].flatMap(breaksOfTask),
  ...Object.keys(MEDIA_GATES).flatMap(breaksOfMedia),
  ...['embeddings', 'moderations'].map(
    (id) =>
      [`${id}: openai for Node`, 'an unknown model has another status', statusInstead(404, 400)] as const,
  ),
  ['path of responses', 'a resource is found', statusInstead(404, 200)],
  ['bearer key for responses', 'there is no challenge', withoutHeader('www-authenticate')],
  ['refusals of responses', 'the field is not named', replaced(/"param":"[^"]*"/, '"param":null')],
  [
    'unknown fields of a response',
    'they are refused',
    {
      answer: (answer, { body }) => {
        if (body.includes('"unheard_of"')) answer.status = 400
      },
    },
  ],
  ['response object', 'ids of another form', replaced('"id":"resp_', '"id":"chatcmpl_')],
  [
    'response object',
    'a cut response looks whole',
    replaced(/"status":"incomplete"/g, '"status":"completed"'),
  ],
  [
    'typed events to response.completed',
    'the end is missing',
    replaced(/event: response.completed\n.*\n\n/, ''),
  ],
  [
    'typed events to response.completed',
    'a broken response is completed',
    replaced(/response\.failed/g, 'response.completed'),
  ],
  ['stored responses', 'another metadata is read', replaced('"ticket":"17"', '"ticket":"18"')],
  ['deltas of a function call', 'arguments are cut', replaced('Basel', 'Bas')],
  [
    'usage and cost of a response',
    'another cost is told',
    replaced(TOLD_COST, '"cost":0.5,"cost_usd":"0.5"'),
  ],
  ['errors of responses', 'the request id is another', withoutHeader('x-request-id')],
  ['limits of responses', 'nothing says when to come back', withoutHeader('retry-after')],
  ['responses by openai for Node', 'an unknown model has another status', statusInstead(404, 400)],
  ['path, and targets of the wire alone', 'another status is told', statusInstead(404, 422)],
  [
    'path, and targets of every wire',
    'the message is of another type',
    replaced('"type":"message"', '"type":"chat"'),
  ],
  ['x-api-key or bearer key', 'there is no challenge', withoutHeader('www-authenticate')],
  ['required native fields', 'the field is not named', replaced(/"param":"[^"]*"/, '"param":null')],
  [
    'other native fields change nothing',
    'they are refused',
    {
      answer: (answer, { body }) => {
        if (body.includes('"unheard_of"')) answer.status = 400
      },
    },
  ],
  ['native message', 'ids of another form', replaced('"msg_', '"chatcmpl_')],
  ['named events to message_stop', 'events have no names', replaced(/event: \w+\n/g, '')],
  ['named events to message_stop', 'the end is missing', replaced(/event: message_stop\n.*\n\n/, '')],
  ['deltas of a tool use', 'arguments are cut', replaced('Basel', 'Bas')],
  [
    'native usage, streamed and recorded',
    'the answer differs',
    replaced(/"output_tokens":\d+/, '"output_tokens":1'),
  ],
  ['native error body', 'the type is missing', replaced('"type":"error"', '"type":"message"')],
  ['limits of native calls', 'nothing says when to come back', withoutHeader('retry-after')],
  ['@anthropic-ai/sdk for Node', 'an event is no JSON', replaced('data: {', 'data: {{')],
]

describe('a gateway that is broken on purpose fails the check, and is demoted:', () => {
  test.each(BREAKS)('%s: %s', async (name, _what, how) => {
    const check = checkOf(name)
    const isLimited = check.subject === 'rate limits'
    const results = await runGate(only(check), {
      ...context,
      limitedKey: isLimited ? await limitedKey() : '',
      fetch: broken(how),
    })
    expect(results).toMatchObject([{ name, outcome: 'failed', detail: expect.stringMatching(/\S/) }])
    const evidence = evidenceOf(results, RUN)
    expect(evidence.passed).toBe(false)
    expect(publishedStatus('Stable', evidence, RUN.contract)).toBe('Limited')
  })

  test('ignored fields change nothing: they are forwarded', async () => {
    const received = (model: string) =>
      context.received(model).map((body) => ({ ...(body as object), seed: 7 }))
    const results = await runGate(only(checkOf('ignored fields change nothing')), { ...context, received })
    expect(results).toMatchObject([{ outcome: 'failed', detail: expect.stringContaining('forwarded') }])
  })

  test.each([
    ['openai for Python', 'openai_client.py'],
    ['openai-agents for Python, five turns', 'openai_agents.py'],
  ])('%s: the program that uses it fails', async (name, program) => {
    const check = only(checkOf(name))
    const results = await runGate(check, { ...context, python: { command: '/bin/false' } })
    expect(results).toMatchObject([{ outcome: 'failed' }])
    const passing = await runGate(check, { ...context, python: { command: '/bin/echo' } })
    expect(passing).toMatchObject([{ outcome: 'passed', detail: expect.stringContaining(program) }])
  })

  test('every check is broken by at least one of these', () => {
    const names = new Set([...BREAKS.map(([name]) => name), ...PYTHON_CHECKS])
    expect(ALL_CHECKS.map(({ name }) => name).filter((name) => !names.has(name))).toEqual([])
  })
})

test('a subject that no check covers fails the gate', async () => {
  const results = await runGate({ checks: [] }, context)
  expect(results.map(({ subject, outcome }) => [subject, outcome])).toEqual(
    SUBJECTS.map((subject) => [subject, 'failed']),
  )
})

describe('the evidence that is checked in', () => {
  const evidenced = Object.entries(SURFACE_EVIDENCE)

  test('is of the checks that the gate has', () => {
    for (const [id, { checks }] of evidenced) {
      const names = SURFACE_GATES[id as SurfaceId]?.checks.map(({ name }) => name)
      expect(Object.keys(checks), id).toEqual(names)
    }
  })

  test('is of the client libraries that are installed', () => {
    const { openai, '@anthropic-ai/sdk': anthropic } = packageJson.devDependencies
    expect(SURFACE_EVIDENCE.messages?.checks['@anthropic-ai/sdk for Node']).toBe(
      `passed: @anthropic-ai/sdk ${anthropic}`,
    )
    expect(SURFACE_EVIDENCE['chat-completions']?.checks['openai for Node']).toBe(`passed: openai ${openai}`)
  })

  test('keeps every surface stable that is registered as such', async () => {
    const response = await fetch(`${stack.url}/surfaces.json`)
    const { data } = (await response.json()) as PublishedSurfaceList
    const stable = SURFACES.filter(({ status }) => status === 'Stable').map(({ id }) => id)
    expect(stable).toContain('chat-completions')
    expect(
      data.filter(({ id }) => stable.includes(id as SurfaceId)).map(({ id, status }) => [id, status]),
      'after a change of the contract, run: npm run gate',
    ).toEqual(stable.map((id) => [id, 'Stable']))
  })
})
