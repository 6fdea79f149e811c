import { describe, expect, test } from 'vitest'
import packageJson from '../../../package.json' with { type: 'json' }
import type { CallTimelineView, OperatorCall } from '../../../src/core/api/calls.ts'
import type { LiveView, ProcessView, QueuesView, TrafficView } from '../../../src/core/api/operations.ts'
import type { List, Page } from '../../../src/core/api/shared.ts'
import { queuePrefix } from '../../../src/platform/redis/redis-keys.ts'
import { ask, streamed } from '../../helpers/chat-client.ts'
import { eventually } from '../../helpers/eventually.ts'
import { testAccount, testOperator, testStack } from '../../helpers/resources.ts'
import { expectError } from '../wire.ts'

const PROMPT = 'A prompt that no operator may read'
const PATHS = [
  '/processes',
  '/queues',
  '/traffic',
  '/calls',
  '/calls/chatcmpl_01ARZ3NDEKTSV4RRFFQ69G5FAV/timeline',
  '/accounts',
  '/accounts/acct_none',
  '/ledger',
  '/audit/latest',
  '/audit/runs',
  '/alarms',
  '/alarm-destinations',
  '/actions',
  '/margin',
  '/hours',
  '/live',
]
const POSTS = [
  '/accounts/acct_none/suspend',
  '/accounts/acct_none/resume',
  '/accounts/acct_none/credit',
  '/accounts/acct_none/adjust',
  '/keys/key_none/revoke',
  '/keys/key_none/limits',
  '/audit/run',
  '/alarms/alarm_none/acknowledge',
  '/alarm-destinations',
  '/alarm-destinations/adest_none/test',
]

const stack = testStack({
  models: {
    'test/plain': [{ at: 'alpha', model: 'words-12' }],
    'test/hangs': [{ at: 'alpha', model: 'hang' }],
    'test/broken': [{ at: 'beta', model: 'status-500' }],
  },
  environment: { LAST_FIRST_TOKEN_TIMEOUT_MS: '60000' },
})
const admin = testOperator(stack)
const owner = testAccount(stack, '10.00')

describe('who may look', () => {
  test.each([
    ...PATHS.map((path) => ['GET', path] as const),
    ...POSTS.map((path) => ['POST', path] as const),
  ])('%s %s is refused to strangers and to customers', async (method, path) => {
    const url = `${stack.url}/admin/api${path}`
    await expectError(await fetch(url, { method }), 401, 'missing_api_key')
    const headers = { authorization: `Bearer ${owner.key}` }
    await expectError(await fetch(url, { method, headers }), 403, 'not_permitted')
  })

  test('an unknown or invalid query parameter of the operator API is refused', async () => {
    await expectError(await admin.send('GET', '/calls?acount=x'), 400, 'invalid_request')
    await expectError(await admin.send('GET', '/margin?group_by=weather'), 400, 'invalid_request')
    await expectError(await admin.send('GET', '/traffic?minutes=61'), 400, 'invalid_request')
    await expectError(await admin.send('GET', '/alarms?cursor=a%20b'), 400, 'invalid_request')
  })
})

test('every process reports itself with what it has finished', async () => {
  await ask(owner, { model: 'test/plain' })
  await eventually(async () => {
    const { data } = await admin.get<List<ProcessView>>('/processes')
    const byRole = Object.fromEntries(data.map((process) => [process.role, process]))
    expect(Object.keys(byRole).sort()).toEqual(['api', 'dispatch', 'settlement'])
    expect(byRole.dispatch).toMatchObject({
      pid: process.pid,
      version: packageJson.version,
      concurrency: 400,
      in_flight_calls: 0,
      finished: { completed: expect.any(Number) },
    })
    expect(byRole.api?.finished['2xx']).toBeGreaterThan(0)
    expect(byRole.api?.rss_bytes).toBeGreaterThan(1e6)
    expect(Date.parse(byRole.api?.reported_at ?? '')).toBeGreaterThan(Date.now() - 6_000)
  })
})

test('a process that ends leaves the board', async () => {
  const second = await stack.startDispatch()
  const dispatchers = async () =>
    (await admin.get<List<ProcessView>>('/processes')).data.filter(({ role }) => role === 'dispatch')
  await eventually(async () => expect(await dispatchers()).toHaveLength(2))
  await second.stop()
  await eventually(async () => expect(await dispatchers()).toHaveLength(1))
})

test('traffic counts requests, errors, calls, tokens and spend, each once', async () => {
  const before = await admin.get<TrafficView>('/traffic?minutes=5&step=10')
  const whole = await ask(owner, { model: 'test/plain' })
  const streaming = await streamed(owner, { model: 'test/plain' })
  expect([whole.status, streaming.status]).toEqual([200, 200])
  expect((await ask(owner, { model: 'test/none' })).status).toBe(404)
  expect((await ask(owner, { model: 'test/broken' })).status).toBe(502)
  await stack.settled(owner.accountId)
  const records = await stack.postgres.callRecord.findMany({
    where: { accountId: owner.accountId, id: { in: [whole.id ?? '', streaming.id ?? ''] } },
  })
  const spend = records.reduce((sum, { chargePico }) => sum + chargePico, 0n)
  expect(spend).toBeGreaterThan(0n)
  const grown = (after: Record<string, number>, was: Record<string, number>, name: string) =>
    (after[name] ?? 0) - (was[name] ?? 0)
  await eventually(async () => {
    const { total, data } = await admin.get<TrafficView>('/traffic?minutes=5&step=10')
    expect(data).toHaveLength(30)
    expect(grown(total.requests, before.total.requests, '2xx')).toBe(2)
    expect(grown(total.requests, before.total.requests, '4xx')).toBe(1)
    expect(grown(total.requests, before.total.requests, '5xx')).toBe(1)
    expect(grown(total.errors, before.total.errors, 'model_not_found')).toBe(1)
    expect(grown(total.errors, before.total.errors, 'all_providers_failed')).toBe(1)
    expect((total.calls.completed ?? 0) - (before.total.calls.completed ?? 0)).toBe(2)
    expect((total.calls.failed ?? 0) - (before.total.calls.failed ?? 0)).toBe(1)
    const spent = (view: TrafficView['total']) => Math.round(Number(view.spend_usd) * 1e12)
    expect(spent(total) - spent(before.total)).toBe(Number(spend))
  })
})

test('queues say how much waits and for how long, without a job being read', async () => {
  await stack.settled(owner.accountId)
  const view = await admin.get<QueuesView>('/queues')
  expect(view.data.map(({ name }) => name)).toEqual(['dispatch', 'settlement', 'events', 'catalog', 'mail'])
  expect(view.settlement_behind).toBe(false)
  expect(view.claim_wait.calls).toBeGreaterThan(0)
  expect(view.claim_wait.p99_ms).toBeGreaterThanOrEqual(view.claim_wait.p50_ms ?? 0)
})

test('a waiting settlement shows its age, and that settlement is behind', async () => {
  await stack.redis.hset(`${queuePrefix(0)}:settlement:settle_old`, 'timestamp', Date.now() - 60_000)
  // Put where the oldest is taken from; the worker cannot have it, for it is paused.
  await stack.redis.hset(`${queuePrefix(0)}:settlement:meta`, 'paused', 1)
  try {
    await stack.redis.lpush(`${queuePrefix(0)}:settlement:wait`, 'settle_old')
    const view = await admin.get<QueuesView>('/queues')
    const settlement = view.data.find(({ name }) => name === 'settlement')
    expect(settlement?.oldest_waiting_ms).toBeGreaterThanOrEqual(60_000)
    expect(view.settlement_behind).toBe(true)
  } finally {
    await stack.redis.lrem(`${queuePrefix(0)}:settlement:wait`, 0, 'settle_old')
    await stack.redis.del(`${queuePrefix(0)}:settlement:settle_old`)
    await stack.redis.hdel(`${queuePrefix(0)}:settlement:meta`, 'paused')
  }
})

describe('calls', () => {
  test('a settled call has a timeline with what it cost and earned', async () => {
    const { id } = await ask(owner, { model: 'test/plain' })
    await stack.settled(owner.accountId)
    const call = await admin.get<CallTimelineView>(`/calls/${id}/timeline`)
    if (call.state !== 'settled') throw new Error('not settled')
    expect(call).toMatchObject({
      id,
      status: 'completed',
      served_model: 'test/plain',
      served_offer: 'alpha/words-12',
      is_byok: false,
      attempts: [{ offer: 'alpha/words-12', outcome: 'ok', http_status: 200 }],
    })
    expect(new Set(call.timeline.map(({ kind }) => kind))).toEqual(
      new Set(['admitted', 'claimed', 'attempt', 'attempt_ended', 'first_token', 'finished', 'settled']),
    )
    // A dollar and two of revenue a million tokens, half a dollar of cost.
    const { prompt_tokens: prompt, completion_tokens: completion } = call
    expect(Number(call.charged_usd)).toBeCloseTo((prompt + 2 * completion) / 1e6, 12)
    expect(Number(call.cost_usd)).toBeCloseTo((prompt + completion) / 2e6, 12)
    expect(Number(call.margin_usd)).toBeCloseTo(Number(call.charged_usd) - Number(call.cost_usd), 12)
  })

  test('a call in flight shows where it is and what it holds, and nothing of its text', async () => {
    const controller = new AbortController()
    void ask(
      owner,
      { model: 'test/hangs', messages: [{ role: 'user', content: PROMPT }] },
      controller.signal,
    ).catch(() => undefined)
    try {
      const text = await eventually(async () => {
        const [id] = await stack.redis.lrange(`${queuePrefix(0)}:dispatch:active`, 0, 0)
        expect(id).toBeDefined()
        const response = await admin.send('GET', `/calls/${id}/timeline`)
        expect(response.status).toBe(200)
        return response.text()
      })
      const call = JSON.parse(text) as CallTimelineView
      expect(call).toMatchObject({
        state: 'running',
        account_id: owner.accountId,
        requested_model: 'test/hangs',
        candidates: [{ offer: 'alpha/hang', model: 'test/hangs' }],
      })
      if (call.state === 'settled') throw new Error('settled')
      expect(Number(call.held_usd)).toBeGreaterThan(0)
      expect(text).not.toContain(PROMPT)
      expect(text).not.toContain('sealed')
    } finally {
      controller.abort()
    }
    await stack.settled(owner.accountId)
  })

  test('an unknown call is not found', async () => {
    await expectError(
      await admin.send('GET', '/calls/chatcmpl_01ARZ3NDEKTSV4RRFFQ69G5FAV/timeline'),
      404,
      'not_found',
    )
    await expectError(await admin.send('GET', '/calls/nonsense/timeline'), 404, 'not_found')
  })

  test('calls are found by each of their marks, and paged through without a gap', async () => {
    const other = await stack.account('10.00')
    for (let count = 0; count < 5; count++) {
      await ask(other, { model: 'test/plain' })
    }
    await ask(other, { model: 'test/broken' })
    await stack.settled(other.accountId)
    const find = async (query: string) =>
      (await admin.get<Page<OperatorCall>>(`/calls?account=${other.accountId}&${query}`)).data
    const all = await find('')
    expect(all).toHaveLength(6)
    expect(all.map(({ id }) => id)).toEqual(
      all
        .map(({ id }) => id)
        .sort()
        .reverse(),
    )
    expect(await find('status=failed')).toHaveLength(1)
    expect(await find('status=completed&model=test/plain')).toHaveLength(5)
    expect(await find('offer=alpha/words-12')).toHaveLength(5)
    expect(await find(`key=${other.keyId}`)).toHaveLength(6)
    expect(await find('key=key_other')).toHaveLength(0)
    const named = async (query: string) => (await admin.get<Page<OperatorCall>>(`/calls?${query}`)).data
    const { email } = await stack.postgres.account.findUniqueOrThrow({ where: { id: other.accountId } })
    await stack.postgres.apiKey.update({ where: { id: other.keyId }, data: { name: 'Night 100%' } })
    for (const query of [
      `account=${email!.slice(0, -2)}`,
      `q=${email}`,
      'key=night 100',
      'q=100%25',
      'q=alpha',
    ])
      expect([query, (await named(query)).length > 0]).toEqual([query, true])
    for (const query of [`account=${email!.slice(0, -2)}`, `q=${email}`, 'key=night 100', 'q=100%25'])
      for (const call of await named(query))
        expect(call).toMatchObject({
          account_id: other.accountId,
          account_name: email,
          key_name: 'Night 100%',
        })
    expect(await named('q=100_')).toEqual([])
    expect(await named('key=no such key')).toEqual([])
    await expectError(await admin.send('GET', '/calls?account=no such customer'), 404, 'not_found')
    expect(await admin.get(`/calls/${all[0]!.id}/timeline`)).toMatchObject({
      account_name: email,
      key_name: 'Night 100%',
    })
    expect((await named(`account=${other.accountId}&sort=cost&order=asc`))[0]?.status).toBe('failed')
    expect(await find('min_duration_ms=3600000')).toHaveLength(0)
    expect(await find(`request=${all[0]?.request_id}`)).toHaveLength(1)
    expect(await find('from=2020-01-01&to=2020-02-01')).toHaveLength(0)

    const seen: string[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const page: Page<OperatorCall> = await admin.get(
        `/calls?account=${other.accountId}&limit=4${cursor && `&cursor=${cursor}`}`,
      )
      seen.push(...page.data.map(({ id }) => id))
      expect(page.has_more).toBe(page.next_cursor !== null)
      cursor = page.next_cursor
    }
    expect(seen).toEqual(all.map(({ id }) => id))
  })
})

test('the live board sends one message a second to all viewers and reads nothing without viewers', async () => {
  const key = await stack.adminKey()
  const controller = new AbortController()
  const listen = async (messages: number): Promise<LiveView[]> => {
    const response = await fetch(`${stack.url}/admin/api/live`, {
      headers: { authorization: `Bearer ${key}` },
      signal: controller.signal,
    })
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/)
    const views: LiveView[] = []
    let text = ''
    for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
      text += piece
      const events = text.split('\n\n')
      text = events.pop() ?? ''
      views.push(...events.map((event) => JSON.parse(event.replace(/^data: /, '')) as LiveView))
      if (views.length >= messages) break
    }
    return views
  }
  await ask(owner, { model: 'test/plain' })
  const [one, other] = await Promise.all([listen(4), listen(4)])
  for (const views of [one, other]) {
    expect(views).toHaveLength(4)
    const last = views.at(-1)!
    expect(last.processes?.map(({ role }) => role)).toContain('settlement')
    expect(last.queues).toHaveLength(5)
    expect(last.settlement_behind).toBe(false)
    expect(last.open_alarms).toEqual(expect.any(Number))
    expect(last.breakers).toEqual(expect.any(Array))
    expect(last.traffic?.requests_per_second).toBeGreaterThan(0)
    expect(last.traffic?.tokens_per_second).toBeGreaterThan(0)
  }
  controller.abort()
})
