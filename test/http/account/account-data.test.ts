import { describe, expect, test } from 'vitest'
import type { CreatedKey } from '../../../src/core/api/keys.ts'
import type { SessionView } from '../../../src/core/api/sessions.ts'
import { accountKeys, listedAccounts } from '../../../src/platform/redis/redis-keys.ts'
import { consoleClient, PASSWORD, signedUp } from '../../helpers/console-client.ts'
import { eventually } from '../../helpers/eventually.ts'
import { expectAbsent } from '../../helpers/everything-stored.ts'
import { testStack } from '../../helpers/resources.ts'
import { expectError } from '../wire.ts'

const CONFIRMED = { current_password: PASSWORD }
const PROVIDER_SECRET = 'sk-a-secret-of-the-holder-0123456789'

/** What stays of a deleted account: postings, counts and amounts, decisions; none of it names anybody. */
const KEPT = [
  'accounts',
  'account_provider_costs',
  'account_suspensions',
  'api_keys',
  'call_records',
  'free_credits',
  'idempotency_keys',
  'ledger_totals',
  'ledger_transactions',
  'payments',
  'refused_requests',
  'spend_totals',
  'surface_grants',
  'usage_totals',
]

const stack = testStack({
  environment: { WEBHOOKS_ALLOW_PRIVATE: 'true' },
})

/** An account with something of everything. */
async function furnished() {
  const client = await signedUp(stack.url)
  const { account } = await client.json<SessionView>('/console/api/session')
  const created = await client.json<CreatedKey>('/console/api/keys', { body: { name: 'my laptop' } })
  const key = created.secret
  await client.json(`/console/api/keys/${created.key.id}`, { method: 'PATCH', body: { prompt_log_days: 30 } })
  const body = { model: 'test/one', messages: [{ role: 'user', content: 'Hello!' }] }
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    'x-title': 'my own app',
  }
  const call = () =>
    fetch(`${stack.url}/v1/chat/completions`, { method: 'POST', headers, body: JSON.stringify(body) })
  expect((await call()).status).toBe(200)
  const stored = await fetch(`${stack.url}/v2/responses`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ model: 'test/one', input: 'Keep this.' }),
  })
  const { id: responseId } = (await stored.json()) as { id: string }
  await stack.settled(account.id)
  const accountId = account.id
  await eventually(async () =>
    expect(await stack.postgres.promptLog.count({ where: { accountId } })).toBeGreaterThan(0),
  )
  await client.json('/console/api/webhooks', { body: { url: 'http://127.0.0.1:9/my-hook' } })
  await stack.postgres.providerKey.create({
    data: {
      id: `pkey_${accountId}`,
      accountId,
      providerId: 'openai',
      secretSealed: PROVIDER_SECRET,
      last4: '6789',
    },
  })
  await client.json('/console/api/second-factor/totp', { body: CONFIRMED })
  await stack.postgres.identity.create({
    data: { provider: 'github', subject: accountId, accountId, email: client.email },
  })
  return { client, email: client.email, accountId, key, call, responseId }
}

const balanceOf = async (accountId: string) =>
  (await stack.postgres.account.findUniqueOrThrow({ where: { id: accountId } })).balancePico

describe('the export of an account', () => {
  test('is a file with what is stored of it, and no secret', async () => {
    const { client, email, accountId, key, responseId } = await furnished()
    const response = await client.ask('/console/api/account/export')
    expect(response.status).toBe(200)
    expect(response.headers.get('content-disposition')).toContain(`shuntyard-${accountId}.json`)
    const text = await response.text()
    expect(JSON.parse(text)).toMatchObject({
      account: { id: accountId, email },
      sign_in: {
        has_password: true,
        linked_services: [{ provider: 'github' }],
        sessions: [{ networkAddress: '127.0.0.1' }],
      },
      api_keys: [{ name: 'my laptop' }],
      provider_keys: [{ providerId: 'openai', last4: '6789' }],
      webhooks: [{ url: 'http://127.0.0.1:9/my-hook' }],
      stored_responses: [
        { response: { id: responseId, status: 'completed' }, input: [{ content: [{ text: 'Keep this.' }] }] },
      ],
      stored_response_ids: [responseId],
      feedback: [],
      ledger: [
        { type: 'charges', calls: 2 },
        { kind: 'free_credit', amount_usd: '0.50' },
      ],
    })
    const { passwordHash } = await stack.postgres.accountCredential.findUniqueOrThrow({
      where: { accountId },
    })
    const { secretSealed } = await stack.postgres.accountTotp.findUniqueOrThrow({ where: { accountId } })
    expectAbsent(
      text,
      [key, passwordHash, secretSealed, PROVIDER_SECRET, ...client.cookies.values()],
      'the export',
    )
  })

  test('is for who is signed in', async () => {
    const response = await consoleClient(stack.url).ask('/console/api/account/export')
    await expectError(response, 401, 'not_signed_in')
  })
})

describe('the deletion of an account', () => {
  test('takes the password, and the whole balance named by who gives it up', async () => {
    const { client, accountId } = await furnished()
    const remove = (body: object) => client.ask('/console/api/account/delete', { body })
    const wrong = { current_password: 'another password', forfeit_usd: '0.50' }
    expect((await expectError(await remove(wrong), 400, 'invalid_request')).param).toBe('current_password')
    const { balance } = await client.json<SessionView>('/console/api/session')
    const refused = await expectError(await remove(CONFIRMED), 409, 'conflict')
    expect(refused).toMatchObject({ param: 'forfeit_usd', metadata: { balance_usd: balance.balance_usd } })
    await expectError(await remove({ ...CONFIRMED, forfeit_usd: '0.01' }), 409, 'conflict')
    const foreign = await client.ask('/console/api/account/delete', {
      body: { ...CONFIRMED, forfeit_usd: balance.balance_usd },
      headers: { 'sec-fetch-site': 'cross-site' },
    })
    await expectError(foreign, 403, 'not_permitted')
    expect(await balanceOf(accountId)).toBeGreaterThan(0n)
    expect((await client.ask('/console/api/session')).status).toBe(200)
  })

  test('leaves nothing about its holder, ends every way in, and leaves the ledger whole', async () => {
    const { client, email, accountId, call } = await furnished()
    const { balance } = await client.json<SessionView>('/console/api/session')
    expect(await stack.postgres.callRecord.count({ where: { accountId, labels: { not: {} } } })).toBe(2)
    const body = { ...CONFIRMED, forfeit_usd: balance.balance_usd }
    expect((await client.ask('/console/api/account/delete', { body })).status).toBe(204)

    await expectError(await client.ask('/console/api/session'), 401, 'not_signed_in')
    const again = await consoleClient(stack.url).ask('/console/api/sign-in', {
      body: { email, password: PASSWORD },
    })
    await expectError(again, 401, 'invalid_credentials')
    expect([401, 403]).toContain((await call()).status)
    await eventually(async () =>
      expect(await stack.postgres.accountErasure.count({ where: { accountId } })).toBe(0),
    )

    const tables = await stack.postgres.$queryRaw<{ name: string; hasAccount: boolean }[]>`
      SELECT table_name AS name, bool_or(column_name = 'account_id') AS "hasAccount"
      FROM information_schema.columns
      WHERE table_schema = 'public'
        AND NOT EXISTS (SELECT FROM pg_class WHERE oid = quote_ident(table_name)::regclass AND relispartition)
      GROUP BY table_name`
    for (const { name, hasAccount } of tables) {
      const rows = await stack.postgres.$queryRawUnsafe<{ row: string }[]>(
        `SELECT t::text AS row FROM "${name}" t`,
      )
      const own = rows.filter(({ row }) => row.includes(accountId))
      expectAbsent(rows.map(({ row }) => row).join('\n'), [email], name)
      for (const fact of ['my laptop', 'my own app', 'my-hook', PROVIDER_SECRET])
        expectAbsent(own.map(({ row }) => row).join('\n'), [fact], name)
      if (hasAccount && !KEPT.includes(name)) expect(own, name).toEqual([])
    }

    expect(await balanceOf(accountId)).toBe(0n)
    expect(await stack.redis.sismember(listedAccounts(0), accountId)).toBe(0)
    for (const key of await stack.redis.keys(`${accountKeys(accountId).prefix}*`))
      expect(await stack.redis.ttl(key), key).toBeGreaterThan(0)
    const { code, json } = await stack.command('audit')
    expect({ code, json }).toMatchObject({ code: 0 })
    await stack.command('admin', 'account', 'resume', accountId)
    expect(await stack.postgres.account.findUniqueOrThrow({ where: { id: accountId } })).toMatchObject({
      state: 'suspended',
      email: `deleted-${accountId}`,
    })

    // The address may open an account again, and gets no second free credit.
    const returned = await consoleClient(stack.url).json<SessionView>('/console/api/sign-up', {
      body: { email, password: PASSWORD },
    })
    expect(returned.account.free_credit).toBe('mailbox_used')
    expect(returned.account.id).not.toBe(accountId)
  })

  test('waits for calls, top-ups and debts that are not settled', async () => {
    const { client, accountId } = await furnished()
    const { balance } = await client.json<SessionView>('/console/api/session')
    const remove = () =>
      client.ask('/console/api/account/delete', { body: { ...CONFIRMED, forfeit_usd: balance.balance_usd } })
    const payment = await stack.postgres.payment.create({
      data: {
        id: `pay_${accountId}`,
        accountId,
        rail: 'development',
        state: 'pending',
        amountPico: 5_000_000_000_000n,
      },
    })
    await expectError(await remove(), 409, 'conflict')
    await stack.postgres.payment.delete({ where: { id: payment.id } })
    // On a busy machine it may be 503 with `Retry-After` before.
    await eventually(async () => expect((await remove()).status).toBe(204))
  })
})
