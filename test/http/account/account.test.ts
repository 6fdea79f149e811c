import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { BillingView, LedgerRow, TopUpPage, TopUpView } from '../../../src/core/api/billing.ts'
import type { ByokKeyBody, ByokKeyList } from '../../../src/core/api/byok-keys.ts'
import { type AccountCall, CALL_SORTS, type CallDetail, type CallPage } from '../../../src/core/api/calls.ts'
import type { CreatedKey, KeyList } from '../../../src/core/api/keys.ts'
import type { SessionView } from '../../../src/core/api/sessions.ts'
import type { Page } from '../../../src/core/api/shared.ts'
import type { UsageSeriesView, UsageView } from '../../../src/core/api/usage.ts'
import type {
  CreatedWebhook,
  DeliveryView,
  RotatedSecret,
  TestedWebhook,
  WebhookList,
} from '../../../src/core/api/webhooks.ts'
import { formatUsd, parseUsd, picoUsd } from '../../../src/core/kernel/money.ts'
import { ask, stream } from '../../helpers/chat-client.ts'
import { type ConsoleClient, signedUp } from '../../helpers/console-client.ts'
import { eventually } from '../../helpers/eventually.ts'
import { getAs } from '../../helpers/requests.ts'
import { startStack, type TestStack } from '../../helpers/stack.ts'
import { TOTALS_OF_HISTORY } from '../../helpers/totals.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../../helpers/webhook-receiver.ts'
import { expectError } from '../wire.ts'

let stack: TestStack
let receiver: WebhookReceiver

beforeAll(async () => {
  vi.stubEnv('CONSOLE_TEST_GAMMA_KEY', 'sk-ours')
  receiver = await startWebhookReceiver()
  stack = await startStack({
    models: {
      'test/one': [{ at: 'alpha', model: 'words-12' }],
      'test/broken': [{ at: 'beta', model: 'status-400' }],
      'test/cut': [{ at: 'alpha', model: 'words-12.error-event-5' }],
      'test/own': [{ at: 'gamma', model: 'words-12.auth' }],
    },
    providerKeyNames: { gamma: 'CONSOLE_TEST_GAMMA_KEY' },
    environment: {
      PAYMENTS_DEVELOPMENT_RAIL: 'true',
      WEBHOOKS_ALLOW_PRIVATE: 'true',
    },
  })
})
afterAll(async () => {
  await stack.close()
  await receiver.close()
  vi.unstubAllEnvs()
})

const accountOf = async (client: ConsoleClient) =>
  (await client.json<SessionView>('/console/api/session')).account.id
const newKey = (client: ConsoleClient, body: Record<string, unknown> = { name: 'laptop' }) =>
  client.json<CreatedKey>('/console/api/keys', { body })
const call = (key: string, model = 'test/one') => ask({ url: stack.url, key }, { model })
const sumUsd = (amounts: string[]) =>
  formatUsd(picoUsd(amounts.reduce((sum, amount) => sum + parseUsd(amount), 0n)))

describe('API keys', () => {
  test('show their secret once, and never again in any answer', async () => {
    const client = await signedUp(stack.url)
    const { secret, key } = await newKey(client)
    expect(secret).toMatch(/^sk-sy-[0-9A-Za-z]{49}$/)
    expect(key).toMatchObject({
      name: 'laptop',
      state: 'active',
      hint: `${secret.slice(0, 10)}…${secret.slice(-4)}`,
      limit_usd: null,
      remaining_usd: null,
      spent_usd: '0.00',
      last_used_at: null,
    })
    expect((await call(secret)).status).toBe(200)
    await stack.settled(await accountOf(client))
    for (const path of ['keys', 'session', 'calls', 'usage?group_by=key', 'calls.csv', 'billing', 'ledger']) {
      const text = await (await client.ask(`/console/api/${path}`)).text()
      expect(text).not.toContain(secret)
      expect(text).not.toContain(secret.slice(10, -4))
    }
  })

  test('have limits, and show what was spent of them and when they were used', async () => {
    const client = await signedUp(stack.url)
    const { secret, key } = await newKey(client, {
      name: '',
      limit_usd: '0.25',
      limit_reset: 'daily',
      customer_requests_per_minute: 7,
      customer_concurrent_calls: 3,
    })
    const { id } = await call(secret)
    await stack.settled(await accountOf(client))
    const cost = (await client.json<CallDetail>(`/console/api/calls/${id}`)).cost_usd
    const { data, defaults } = await client.json<KeyList>('/console/api/keys')
    expect(data).toHaveLength(1)
    expect(data[0]).toMatchObject({
      id: key.id,
      limit_usd: '0.25',
      limit_reset: 'daily',
      spent_usd: cost,
      effective_requests_per_minute: 7,
      effective_concurrent_calls: 3,
      last_used_at: expect.stringMatching(/^\d{4}-/),
      resets_at: expect.stringMatching(/T00:00:00.000Z$/),
    })
    expect(sumUsd([data[0]!.spent_usd, data[0]!.remaining_usd!])).toBe('0.25')
    expect(Number(cost)).toBeGreaterThan(0)
    expect(defaults).toMatchObject({ requests_per_minute: 600, concurrent_calls: 100 })
  })

  test('are bounded in number', async () => {
    const client = await signedUp(stack.url)
    const { key } = await newKey(client)
    const { bounds: _, ...row } = await stack.postgres.apiKey.findUniqueOrThrow({ where: { id: key.id } })
    await stack.postgres.apiKey.createMany({
      data: Array.from({ length: 199 }, (_, index) => ({
        ...row,
        id: `${key.id}-${index}`,
        hash: new Uint8Array(randomBytes(32)),
      })),
    })
    const beyond = await client.ask('/console/api/keys', { body: { name: '' } })
    expect((await expectError(beyond, 400, 'invalid_request')).message).toContain('200')
    expect((await client.ask(`/console/api/keys/${key.id}/revoke`, { method: 'POST' })).status).toBe(200)
    expect((await newKey(client)).key.state).toBe('active')
  })
})

test('of another account nothing is seen and nothing is done', async () => {
  const [mine, other] = await Promise.all([signedUp(stack.url), signedUp(stack.url)])
  const { secret, key } = await newKey(mine)
  const { id } = await call(secret)
  await stack.settled(await accountOf(mine))
  const topUp = await mine.json<TopUpView>('/console/api/top-ups', {
    body: { amount_usd: '5.00', rail: 'development' },
  })
  const { webhook } = await mine.json<CreatedWebhook>('/console/api/webhooks', {
    body: { url: `${receiver.url}/mine` },
  })
  const paths: Array<[path: string, method: string, body?: object]> = [
    ...[key.id, 'key_none'].flatMap(
      (id): Array<[string, string, object?]> => [
        [`keys/${id}`, 'GET'],
        [`keys/${id}`, 'PATCH', { name: 'mine' }],
        ...['pause', 'resume', 'revoke'].map((verb): [string, string] => [`keys/${id}/${verb}`, 'POST']),
      ],
    ),
    [`calls/${id}`, 'GET'],
    [`top-ups/${topUp.payment_id}`, 'GET'],
    [`webhooks/${webhook.id}`, 'DELETE'],
    [`webhooks/${webhook.id}/rotate-secret`, 'POST'],
    [`webhooks/${webhook.id}/test`, 'POST'],
    [`webhooks/${webhook.id}/enable`, 'POST'],
    [`webhooks/${webhook.id}/deliveries`, 'GET'],
    [`provider-keys/${key.id}`, 'DELETE'],
  ]
  for (const [path, method, body] of paths) {
    await expectError(await other.ask(`/console/api/${path}`, { method, body }), 404, 'not_found')
  }
  const calling = { model: 'test/one', messages: [{ role: 'user', content: 'hi' }] }
  const playground = `/console/api/playground/chat-completions?key_id=${key.id}`
  await expectError(await other.ask(playground, { body: calling }), 404, 'not_found')
  expect((await call(secret)).status).toBe(200)
  expect((await mine.json<KeyList>('/console/api/keys')).data).toMatchObject([{ name: key.name }])
})

describe('billing', () => {
  test('a top-up on the development rail is in the balance, has a receipt and is in the ledger', async () => {
    const client = await signedUp(stack.url)
    const before = await client.json<BillingView>('/console/api/billing')
    expect(before).toMatchObject({
      balance_usd: '0.50',
      rails: ['development'],
      presets_usd: ['5.00', '25.00', '50.00', '100.00'],
    })
    const topUp = await client.json<TopUpView>('/console/api/top-ups', {
      body: { amount_usd: '25.00', rail: 'development' },
    })
    expect(topUp).toMatchObject({ state: 'settled', test: true, amount_usd: '25.00', checkout_url: null })
    expect(topUp.receipt).toEqual({ billed_to: client.email, net_usd: '25.00' })
    await stack.command('admin', 'topup', 'refund', topUp.payment_id, '--amount', '10')
    const shown = await client.json<TopUpView>(`/console/api/top-ups/${topUp.payment_id}`)
    expect(shown).toMatchObject({ refunded_usd: '10.00', receipt: { net_usd: '15.00' } })
    const after = await client.json<BillingView>('/console/api/billing')
    expect([after.balance_usd, after.available_usd]).toEqual(['15.50', '15.50'])
    const { data } = await client.json<Page<LedgerRow>>('/console/api/ledger')
    expect(data.map(({ kind, amount_usd, top_up_id }) => [kind, amount_usd, top_up_id])).toEqual([
      ['refund', '-10.00', topUp.payment_id],
      ['topup', '25.00', topUp.payment_id],
      ['free_credit', '0.50', null],
    ])
  })

  test('lists top-ups page by page, each once', async () => {
    const client = await signedUp(stack.url)
    const made: string[] = []
    for (const amount of ['5.00', '6.00', '7.00']) {
      const body = { amount_usd: amount, rail: 'development' }
      made.unshift((await client.json<TopUpView>('/console/api/top-ups', { body })).payment_id)
    }
    const pageAfter = async (query: string) => {
      const { data, has_more } = await client.json<TopUpPage<TopUpView>>(
        `/console/api/top-ups?limit=2${query}`,
      )
      return { ids: data.map(({ payment_id }) => payment_id), has_more }
    }
    expect(await pageAfter('')).toEqual({ ids: made.slice(0, 2), has_more: true })
    expect(await pageAfter(`&before=${made[1]}`)).toEqual({ ids: made.slice(2), has_more: false })
  })

  test('the ledger sums to the balance, page by page, charges of a day in one row', async () => {
    const client = await signedUp(stack.url)
    const accountId = await accountOf(client)
    const { secret } = await newKey(client)
    for (let count = 0; count < 3; count++) await call(secret)
    await stack.settled(accountId)
    await stack.command(
      'admin',
      'account',
      'adjust',
      accountId,
      '--amount',
      '1.00',
      '--reason',
      'sorry for the wait',
    )
    // Charges of days before, as an account that is older has them.
    const day = 86_400_000n
    const [first, second] = await stack.postgres.callRecord.findMany({ where: { accountId }, take: 2 })
    for (const [call, back] of [
      [first!, 1n],
      [second!, 40n],
    ] as const) {
      const { id, admittedAtMs } = call
      await stack.postgres.$executeRawUnsafe('ALTER TABLE call_records DISABLE TRIGGER USER')
      await stack.postgres.callRecord.update({
        where: { id },
        data: { admittedAtMs: admittedAtMs - back * day },
      })
      await stack.postgres.$executeRawUnsafe('ALTER TABLE call_records ENABLE TRIGGER USER')
    }
    // No trigger moved them to other days of the totals, which the ledger lists.
    const { columns, sql } = TOTALS_OF_HISTORY.spend_totals!
    await stack.postgres.$transaction([
      stack.postgres.$executeRawUnsafe('DELETE FROM spend_totals WHERE account_id = $1', accountId),
      stack.postgres.$executeRawUnsafe(
        `INSERT INTO spend_totals (${columns}) SELECT ${columns} FROM (${sql}) AS history WHERE account_id = $1`,
        accountId,
      ),
    ])
    const pagedBy = async (limit: number) => {
      const rows: LedgerRow[] = []
      for (let cursor: string | null = ''; cursor !== null; ) {
        const page: Page<LedgerRow> = await client.json(`/console/api/ledger?limit=${limit}&cursor=${cursor}`)
        rows.push(...page.data)
        cursor = page.next_cursor
      }
      return rows
    }
    const rows = await pagedBy(2)
    expect(await pagedBy(1)).toEqual(rows)
    expect(await pagedBy(50)).toEqual(rows)
    const { balance } = await client.json<SessionView>('/console/api/session')
    expect(sumUsd(rows.map((row) => row.amount_usd))).toBe(balance.balance_usd)
    expect(rows.filter(({ kind }) => kind === 'charges').map(({ calls }) => calls)).toEqual([1, 1, 1])
    expect(rows.find(({ kind }) => kind === 'adjustment')).toMatchObject({ note: 'sorry for the wait' })
    expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length)
    expect(rows.map(({ at }) => at)).toEqual(
      rows
        .map(({ at }) => at)
        .sort()
        .reverse(),
    )
  })

  test('refuses an amount beyond the limits and a rail that is not set up', async () => {
    const client = await signedUp(stack.url)
    const top = (amount_usd: string, rail: string) =>
      client.ask('/console/api/top-ups', { body: { amount_usd, rail } })
    expect((await expectError(await top('0.50', 'development'), 400, 'invalid_request')).param).toBe(
      'amount_usd',
    )
    expect((await expectError(await top('5.00', 'card'), 400, 'invalid_request')).param).toBe('rail')
  })

  test('an account keeps its threshold of the low-balance message', async () => {
    const client = await signedUp(stack.url)
    const set = (low_balance_usd: unknown) =>
      client.json<SessionView>('/console/api/account', { method: 'PATCH', body: { low_balance_usd } })
    expect((await set('2.50')).balance.low_balance_usd).toBe('2.50')
    expect((await set(null)).balance.low_balance_usd).toBeNull()
  })
})

describe('usage', () => {
  test('has the figures of the ledger: by day, by model, by key, by call and as CSV', async () => {
    const client = await signedUp(stack.url)
    const accountId = await accountOf(client)
    const [one, two] = [await newKey(client, { name: 'one' }), await newKey(client, { name: 'two' })]
    await call(one.secret)
    await call(one.secret)
    await call(two.secret)
    await call(two.secret, 'test/broken')
    await stack.settled(accountId)
    const charged = await stack.postgres.ledgerEntry.aggregate({
      where: { kind: 'capture', ledgerAccount: `customer:${accountId}` },
      _sum: { amountPico: true },
    })
    const cost = formatUsd(picoUsd(-charged._sum.amountPico!))
    const [dayBefore, yesterday] = [2, 1].map((days) =>
      new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10),
    )
    for (const group of ['day', 'model', 'key']) {
      const usage = await client.json<UsageView>(`/console/api/usage?group_by=${group}`)
      expect(usage.total).toMatchObject({ cost_usd: cost, calls: 4 })
      expect(sumUsd(usage.data.map((row) => row.cost_usd))).toBe(cost)
    }
    for (const group of ['model', 'key']) {
      const series = await client.json<UsageSeriesView>(
        `/console/api/usage/series?group_by=${group}&interval=hour&time_zone=Asia/Kolkata&from=${yesterday}`,
      )
      expect(series.total).toMatchObject({ cost_usd: cost, calls: 4, failed_calls: 1 })
      for (const costs of [
        series.stacks.flatMap((stack) => stack.cost_usd),
        ...[series.buckets, series.groups].map((rows) => rows.map((row) => row.cost_usd)),
      ])
        expect(sumUsd(costs)).toBe(cost)
      expect(series.total_before).toMatchObject({ calls: 0, cost_usd: '0.00' })
      expect(series.starts[0]).toBe(`${dayBefore}T18:30:00.000Z`)
    }
    const exported = await client.ask('/console/api/usage/series.csv?group_by=key&interval=month')
    expect(exported.headers.get('content-disposition')).toContain('usage-by-month-and-key.csv')
    expect((await exported.text()).split('\r\n')[0]).toBe(
      '"month","key_id","key_name","calls","failed_calls","prompt_tokens","completion_tokens","cost_usd","first_token_ms","duration_ms"',
    )
    for (const wrong of ['interval=hour&from=2026-01-01&to=2026-06-01', 'time_zone=Nowhere', 'interval=week'])
      expect((await client.ask(`/console/api/usage/series?${wrong}`)).status).toBe(400)
    const { data } = await client.json<Page<AccountCall>>('/console/api/calls')
    expect(sumUsd(data.map((row) => row.cost_usd))).toBe(cost)
    const list = async (query: string) =>
      (await client.json<Page<AccountCall>>(`/console/api/calls?${query}`)).data.length
    expect(await list(`key_id=${one.key.id}`)).toBe(2)
    expect(await list('model=test/one')).toBe(3)
    expect(await list('status=failed')).toBe(1)
    expect(await list(`status=completed&key_id=${two.key.id}`)).toBe(1)
    expect(await pagedIds(client, '/console/api/calls?limit=3')).toEqual(data.map(({ id }) => id))
    const [newest] = data
    expect(await list(`q=${newest?.id}&from=2020-01-01&to=2020-01-02`)).toBe(1)
    expect(await list('q=of-nobody')).toBe(0)
    expect(await list('model=test/one:nitro')).toBe(3)
    for (const [text, calls] of Object.entries({ TWO: 2, failed: 1, broken: 1, 'test/one': 3 }))
      expect([text, await list(`q=${text}`)]).toEqual([text, calls])
    // Where a call went is not told, by a search neither.
    expect(await list('q=words-12')).toBe(0)
    const page = (query: string) => client.json<CallPage<AccountCall>>(`/console/api/calls?limit=2&${query}`)
    for (const sort of CALL_SORTS) {
      const [first, asc] = [await page(`sort=${sort}`), await page(`sort=${sort}&order=asc`)]
      const second = await page(`sort=${sort}&cursor=${first.next_cursor}`)
      expect(new Set([...first.data, ...second.data].map(({ id }) => id)).size).toBe(4)
      expect([first.previous_cursor, second.next_cursor, second.searched_to]).toEqual([null, null, null])
      expect((await page(`sort=${sort}&cursor=${second.previous_cursor}`)).data).toEqual(first.data)
      if (sort !== 'first_token') expect(asc.data).toEqual(second.data.toReversed())
    }
    expect((await page('sort=cost&order=asc')).data[0]?.status).toBe('failed')
    const from = await page(`at=${data[1]!.timings.admitted_at}`)
    expect(from.data.map(({ id }) => id)).toEqual([data[2]!.id, data[3]!.id])
    expect((await page(`cursor=${from.previous_cursor}`)).data).toEqual((await page('')).data)
    expect((await client.ask('/console/api/calls?cursor=none')).status).toBe(400)
    const csv = await client.ask(`/console/api/calls.csv?key_id=${one.key.id}`)
    expect(csv.headers.get('content-disposition')).toBe('attachment; filename="calls.csv"')
    expect((await csv.text()).trim().split('\n')).toHaveLength(3)
  })

  test('shows what the client said about a call, and finds it by that', async () => {
    const client = await signedUp(stack.url)
    const accountId = await accountOf(client)
    const { secret } = await newKey(client)
    await call(secret)
    const response = await fetch(`${stack.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${secret}`,
        'content-type': 'application/json',
        'x-title': 'Night mail',
        'http-referer': 'https://mail.example/?q=private',
        'x-request-id': 'run-7',
      },
      body: JSON.stringify({
        model: 'test/one',
        messages: [{ role: 'user', content: 'a prompt that is stored nowhere' }],
        metadata: { batch: 'B-12', count: 3 },
      }),
    })
    const { id } = (await response.json()) as { id: string }
    await stack.settled(accountId)
    const labels = { title: 'Night mail', referer: 'mail.example', metadata: { batch: 'B-12' } }
    const found = async (query: string) =>
      (await client.json<Page<AccountCall>>(`/console/api/calls?${query}`)).data.map((row) => row.id)
    for (const query of ['q=night', 'q=mail.example', 'q=batch=b-12', 'q=run-7', `q=${id}`])
      expect(await found(query)).toEqual([id])
    expect(await found('q=private')).toEqual([])
    expect(await found('q=Night&status=failed')).toEqual([])
    expect(await client.json<CallDetail>(`/console/api/calls/${id}`)).toMatchObject({ labels })
    const { data } = await client.json<Page<AccountCall>>('/console/api/calls')
    expect(data.map((row) => row.labels)).toEqual([labels, undefined])
    const generation = await getAs(secret, `${stack.url}/v1/generations/${id}`)
    expect(await generation.json()).toMatchObject({ labels })
    const csv = await (await client.ask('/console/api/calls.csv?q=mail')).text()
    expect(csv.split('\r\n')[1]).toContain('"Night mail","mail.example","{""batch"":""B-12""}"')
  })

  test('shows one call with its rates and times, and not where it went', async () => {
    const client = await signedUp(stack.url)
    const { secret } = await newKey(client)
    const { id } = await call(secret)
    const text = await (await client.ask(`/console/api/calls/${id}`)).text()
    expect(JSON.parse(text)).toMatchObject({
      id,
      status: 'completed',
      rates: { prompt: '1.00', completion: '2.00' },
      timings: { first_token_ms: expect.any(Number) },
    } satisfies Partial<Record<keyof CallDetail, unknown>>)
    expect(text).not.toMatch(/alpha|words-12|offer/)
  })

  test('shows the attempts of a failed call and the status of its error, and not where they went', async () => {
    const client = await signedUp(stack.url)
    const { secret } = await newKey(client)
    await call(secret, 'test/broken')
    await stack.settled(await accountOf(client))
    const { data } = await client.json<Page<AccountCall>>('/console/api/calls')
    const text = await (await client.ask(`/console/api/calls/${data[0]?.id}`)).text()
    expect(JSON.parse(text)).toMatchObject({
      status: 'failed',
      error_status: 400,
      attempts: [{ outcome: 'bad-request', http_status: 400, provider_message: null, rescued: false }],
    })
    expect(text).not.toMatch(/beta|status-400|offer/)
  })

  test('shows that a broken stream had begun as a 200', async () => {
    const client = await signedUp(stack.url)
    const { secret } = await newKey(client)
    const { end } = await stream({ url: stack.url, key: secret }, { model: 'test/cut' })
    const { id, errorCode } = await end
    await stack.settled(await accountOf(client))
    expect(await client.json<CallDetail>(`/console/api/calls/${id}`)).toMatchObject({
      status: 'interrupted',
      error_code: errorCode,
      error_status: 200,
    })
  })

  test('refuses a filter that it does not know', async () => {
    const client = await signedUp(stack.url)
    await expectError(await client.ask('/console/api/calls?modle=x'), 400, 'invalid_request')
    await expectError(await client.ask('/console/api/calls?status=lost'), 400, 'invalid_request')
    await expectError(await client.ask('/console/api/ledger?cursor=!!'), 400, 'invalid_request')
  })
})

describe('webhooks', () => {
  test('are added, tested, retried, given a new secret and removed; a secret is shown once', async () => {
    const client = await signedUp(stack.url)
    const url = `${receiver.url}/hooks-${randomBytes(4).toString('hex')}`
    const { secret, webhook } = await client.json<CreatedWebhook>('/console/api/webhooks', {
      body: { url, event_types: ['balance.low'] },
    })
    expect(secret).toMatch(/^whsec_/)
    const rotated = await client.json<RotatedSecret>(`/console/api/webhooks/${webhook.id}/rotate-secret`, {
      method: 'POST',
    })
    const listed = await client.ask('/console/api/webhooks')
    const text = await listed.text()
    expect(text).not.toContain(secret)
    expect(text).not.toContain(rotated.secret)
    expect((JSON.parse(text) as WebhookList).data).toMatchObject([
      { id: webhook.id, event_types: ['balance.low'] },
    ])

    const { event_id } = await client.json<TestedWebhook>(`/console/api/webhooks/${webhook.id}/test`, {
      method: 'POST',
    })
    const deliveries = async () =>
      (await client.json<{ data: DeliveryView[] }>(`/console/api/webhooks/${webhook.id}/deliveries`)).data
    await eventually(async () => expect(await deliveries()).toMatchObject([{ event_id, state: 'delivered' }]))
    const [delivery] = await deliveries()
    const retry = () =>
      client.ask(`/console/api/webhook-deliveries/${delivery!.id}/retry`, { method: 'POST' })
    await expectError(await retry(), 404, 'not_found')
    // As one that was given up after days.
    await stack.postgres.webhookDelivery.update({ where: { id: delivery!.id }, data: { state: 'failed' } })
    expect((await retry()).status).toBe(202)
    await eventually(async () => expect((await deliveries())[0]!.attempts).toHaveLength(2))
    expect((await client.ask(`/console/api/webhooks/${webhook.id}`, { method: 'DELETE' })).status).toBe(204)
    expect((await client.json<WebhookList>('/console/api/webhooks')).data).toEqual([])
  })

  test('send no more tests and retries than an account may ask for in a minute', async () => {
    const client = await signedUp(stack.url)
    const { webhook } = await client.json<CreatedWebhook>('/console/api/webhooks', {
      body: { url: receiver.url, event_types: ['key.revoked'] },
    })
    for (const path of [`webhooks/${webhook.id}/test`, 'webhook-deliveries/dlv_none/retry']) {
      const ask = () => client.ask(`/console/api/${path}`, { method: 'POST' })
      const answers = await Promise.all(Array.from({ length: 30 }, ask))
      const refused = answers.filter(({ status }) => status === 429)
      expect(refused).toHaveLength(20)
      expect(Number(refused[0]!.headers.get('retry-after'))).toBeGreaterThan(0)
      expect(Number(refused[0]!.headers.get('retry-after'))).toBeLessThanOrEqual(60)
      await expectError(refused[0]!, 429, 'rate_limit_exceeded')
    }
    expect(await stack.postgres.event.count({ where: { endpointId: webhook.id } })).toBe(10)
  })

  test('are not added for an address or an event that is none', async () => {
    const client = await signedUp(stack.url)
    const add = (body: unknown) => client.ask('/console/api/webhooks', { body })
    expect((await expectError(await add({ url: 'nowhere' }), 400, 'invalid_request')).param).toBe('url')
    const typed = await add({ url: receiver.url, event_types: ['balance.lower'] })
    expect((await expectError(typed, 400, 'invalid_request')).param).toBe('event_types')
  })
})

describe('provider keys', () => {
  test('are kept without showing them again, serve calls for the fee, and are changed and removed', async () => {
    const client = await signedUp(stack.url)
    const secret = `own-${randomBytes(16).toString('hex')}`
    const add = (body: Record<string, unknown>) => client.ask('/console/api/provider-keys', { body })
    const refused = await expectError(await add({ provider: 'nobody', key: secret }), 400, 'invalid_request')
    expect(refused.param).toBe('provider')
    expect(refused.message).not.toContain(secret)

    const created = (await (
      await add({ provider: 'gamma', key: secret, name: 'mine' })
    ).json()) as ByokKeyBody
    expect(created).toMatchObject({
      provider: 'gamma',
      last4: secret.slice(-4),
      status: 'unchecked',
      allow_fallback: false,
      last_error: null,
    })
    const api = await newKey(client)
    const { id } = await call(api.secret, 'test/own')
    await stack.settled(await accountOf(client))
    const detail = await client.json<CallDetail>(`/console/api/calls/${id}`)
    expect(detail).toMatchObject({ byok: true, rates: { prompt: '0.05', completion: '0.10' } })

    const path = `/console/api/provider-keys/${created.id}`
    const changed = await client.json<ByokKeyBody>(path, { method: 'PATCH', body: { disabled: true } })
    expect(changed).toEqual({ ...created, status: 'disabled', accepted_at: expect.any(String) })
    const listed = await (await client.ask('/console/api/provider-keys')).text()
    expect(listed).not.toContain(secret)
    expect(JSON.parse(listed)).toEqual({
      object: 'list',
      data: [changed],
      providers: ['gamma'],
      provider_names: { gamma: 'gamma' },
      fee_percent: '5',
    } satisfies ByokKeyList)
    expect((await client.ask(path, { method: 'DELETE' })).status).toBe(200)
    expect((await client.json<ByokKeyList>('/console/api/provider-keys')).data).toEqual([])
  })
})

async function pagedIds(client: ConsoleClient, path: string): Promise<string[]> {
  const ids: string[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: Page<{ id: string }> = await client.json(`${path}${cursor && `&cursor=${cursor}`}`)
    ids.push(...page.data.map(({ id }) => id))
    cursor = page.next_cursor
  }
  return ids
}
