import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  createPromptLogStore,
  PROMPT_LOG_PURPOSE,
  prunePromptLogs,
} from '../../../src/calls/prompt-logs/prompt-log-store.ts'
import type { AccountCall, CallDetail, PromptLogView } from '../../../src/core/api/calls.ts'
import type { CreatedKey, DeletedPromptLogs, KeyView } from '../../../src/core/api/keys.ts'
import type { SessionView } from '../../../src/core/api/sessions.ts'
import type { Page } from '../../../src/core/api/shared.ts'
import { newCallId } from '../../../src/core/kernel/ids.ts'
import { createSealer } from '../../../src/platform/sealing.ts'
import { ask, stream } from '../../helpers/chat-client.ts'
import { type ConsoleClient, signedUp } from '../../helpers/console-client.ts'
import { eventually } from '../../helpers/eventually.ts'
import { expectAbsent, postgresText, redisText } from '../../helpers/everything-stored.ts'
import { actOn, member, organisationOf } from '../../helpers/organisation.ts'
import { getAs } from '../../helpers/requests.ts'
import { testStack } from '../../helpers/resources.ts'
import { expectError } from '../wire.ts'

const stack = testStack({
  models: {
    'test/one': [{ at: 'alpha', model: 'words-12' }],
    'test/echo': [{ at: 'alpha', model: 'echo' }],
    'test/refused': [{ at: 'alpha', model: 'status-400-policy' }],
  },
})

const PROMPT = 'Which engine pulled the night mail of 1927?'
const asking = (model = 'test/echo') => ({ model, messages: [{ role: 'user' as const, content: PROMPT }] })

async function holder() {
  const client = await signedUp(stack.url)
  const { account } = await client.json<SessionView>('/console/api/session')
  const { key, secret } = await client.json<CreatedKey>('/console/api/keys', { body: { name: 'app' } })
  return { client, accountId: account.id, key, caller: { url: stack.url, key: secret } }
}
const logFor = (client: ConsoleClient, { id }: { id: string }, days: number | null) =>
  client.json<KeyView>(`/console/api/keys/${id}`, { method: 'PATCH', body: { prompt_log_days: days } })
const readLog = (client: ConsoleClient, callId: string) =>
  client.ask(`/console/api/calls/${callId}/prompt-log`)
/** A log is written once its call has ended, and nobody waits for it. */
const stored = (callId: string) =>
  eventually(async () => {
    const row = await stack.postgres.promptLog.findUnique({ where: { callId } })
    expect(row).not.toBeNull()
    return row!
  })

describe('a key whose holder opted in', () => {
  test.each([['whole'], ['streamed']])('keeps what was asked and answered: %s', async (kind) => {
    const { client, accountId, key, caller } = await holder()
    expect((await logFor(client, key, 7)).prompt_log_days).toBe(7)
    let id = ''
    let answer = ''
    if (kind === 'whole') {
      const call = await ask(caller, asking())
      ;[id, answer] = [call.id!, call.text ?? '']
    } else {
      const call = await (await stream(caller, asking())).end
      ;[id, answer] = [call.id!, call.text]
    }
    const { expiresAt } = await stored(id)
    expect(Math.round((expiresAt.getTime() - Date.now()) / 86_400_000)).toBe(7)
    await stack.settled(accountId)
    const log = (await (await readLog(client, id)).json()) as PromptLogView
    expect(JSON.parse(log.request)).toMatchObject({ messages: [{ content: PROMPT }] })
    expect(JSON.parse(log.answer).content).toBe(answer)
    expect(log).toMatchObject({ call_id: id, request_truncated: false, answer_truncated: false })
    // Lists say that there is a log, and nothing of it.
    const detail = await client.json<CallDetail>(`/console/api/calls/${id}`)
    expect(detail.prompt_log_until).toBe(expiresAt.toISOString())
    const list = await client.json<Page<AccountCall>>('/console/api/calls')
    expect(list.data).toMatchObject([{ id, prompt_log_until: expiresAt.toISOString() }])
    expect(JSON.stringify([list, detail])).not.toContain('night mail')
  })

  test('keeps it sealed, and operators see no more than that it is there', async () => {
    const { client, accountId, key, caller } = await holder()
    await logFor(client, key, 1)
    const { id } = await ask(caller, asking())
    await stored(id!)
    await stack.settled(accountId)
    expectAbsent(await postgresText(stack), [PROMPT], 'PostgreSQL')
    expectAbsent(await redisText(stack), [PROMPT], 'Redis')
    const adminKey = await stack.adminKey()
    for (const path of [`calls/${id}/timeline`, `calls?account=${accountId}`, `accounts/${accountId}`]) {
      const response = await getAs(adminKey, `${stack.url}/admin/api/${path}`)
      const text = await response.text()
      expect(response.status).toBe(200)
      expectAbsent(text, [PROMPT], path)
      if (path.endsWith('timeline')) expect(JSON.parse(text).prompt_log_until).toMatch(/^\d{4}-/)
    }
  })

  test('keeps nothing that is bound elsewhere: a log moved to another call does not open', async () => {
    const { client, key, caller } = await holder()
    await logFor(client, key, 1)
    const [one, other] = [await ask(caller, asking()), await ask(caller, asking())]
    const { sealed } = await stored(one.id!)
    await stored(other.id!)
    await stack.postgres.promptLog.update({ where: { callId: other.id! }, data: { sealed } })
    expect((await readLog(client, other.id!)).status).toBe(500)
    expect((await readLog(client, one.id!)).status).toBe(200)
  })
})

test('without it nothing is kept, nor once it is turned off', async () => {
  const { client, accountId, key, caller } = await holder()
  await ask(caller, asking())
  await logFor(client, key, 3)
  const kept = await ask(caller, asking())
  await stored(kept.id!)
  await logFor(client, key, null)
  await ask(caller, asking())
  await stack.settled(accountId)
  // Also where an instance has not heard of it yet: the statement itself asks.
  expect(await stack.postgres.promptLog.count({ where: { accountId } })).toBe(1)
  const deleted = await client.json<DeletedPromptLogs>(`/console/api/keys/${key.id}/prompt-logs`, {
    method: 'DELETE',
  })
  expect(deleted).toEqual({ deleted: 1 })
  await expectError(await readLog(client, kept.id!), 404, 'not_found')
})

test('a log that has expired is gone for its readers at once, and deleted by maintenance', async () => {
  const { client, accountId, key, caller } = await holder()
  await logFor(client, key, 1)
  const [old, fresh] = [await ask(caller, asking()), await ask(caller, asking())]
  await stored(old.id!)
  await stored(fresh.id!)
  await stack.postgres.promptLog.update({ where: { callId: old.id! }, data: { expiresAt: new Date(1) } })
  await expectError(await readLog(client, old.id!), 404, 'not_found')
  await prunePromptLogs(stack.postgres)
  const left = await stack.postgres.promptLog.findMany({ where: { accountId } })
  expect(left.map(({ callId }) => callId)).toEqual([fresh.id])
})

test.each([[0], [31], [1.5], ['7']])('%s days are no retention', async (days) => {
  const { client, key } = await holder()
  const response = await client.ask(`/console/api/keys/${key.id}`, {
    method: 'PATCH',
    body: { prompt_log_days: days },
  })
  await expectError(response, 400, 'invalid_request')
})

describe('logs are of those who may use the key:', () => {
  test('another account finds none and deletes none', async () => {
    const [owner, other] = [await holder(), await holder()]
    await logFor(owner.client, owner.key, 1)
    const { id } = await ask(owner.caller, asking())
    await stored(id!)
    await expectError(await readLog(other.client, id!), 404, 'not_found')
    const path = `/console/api/keys/${owner.key.id}/prompt-logs`
    await expectError(await other.client.ask(path, { method: 'DELETE' }), 404, 'not_found')
    expect((await readLog(owner.client, id!)).status).toBe(200)
  })

  test('in an organisation its managers and who made the key', async () => {
    const { accountId, members } = await organisationOf(stack, ['owner', 'developer', 'billing'])
    await stack.postgres.$executeRaw`UPDATE accounts SET state = 'active' WHERE id = ${accountId}`
    const { key } = await members.developer.json<CreatedKey>('/console/api/keys', { body: { name: 'dev' } })
    const colleague = await member(stack.url)
    await stack.postgres.organisationMember.create({
      data: { accountId, personId: colleague.personId, role: 'developer' },
    })
    await actOn(colleague, accountId)
    const callId = 'chatcmpl_01KB2Q3R4S5T6V7W8X9Y0Z1A2B'
    await logFor(members.developer, key, 1)
    // Whether a log is shown is decided before it is opened, so any bytes will do for those who may not.
    await stack.postgres.promptLog.create({
      data: {
        callId,
        accountId,
        keyId: key.id,
        sealed: Buffer.from('x'),
        expiresAt: new Date(Date.now() + 60_000),
      },
    })
    await expectError(await readLog(colleague, callId), 404, 'not_found')
    await expectError(await readLog(members.billing, callId), 403, 'not_permitted')
    const path = `/console/api/keys/${key.id}/prompt-logs`
    await expectError(await colleague.ask(path, { method: 'DELETE' }), 404, 'not_found')
    expect((await members.owner.ask(path, { method: 'DELETE' })).status).toBe(200)
  })
})

describe('the bytes of prompt logs', () => {
  const bytesOf = async (accountId: string) =>
    Number((await stack.postgres.promptLogBytes.findUnique({ where: { accountId } }))?.bytes ?? 0n)

  test('are summed by account, and given back with the logs', async () => {
    const { client, accountId, key, caller } = await holder()
    await logFor(client, key, 7)
    const { id } = await ask(caller, asking())
    const row = await stored(id!)
    expect(await bytesOf(accountId)).toBe(row.sealed.length)
    await client.json<DeletedPromptLogs>(`/console/api/keys/${key.id}/prompt-logs`, { method: 'DELETE' })
    expect(await bytesOf(accountId)).toBe(0)
  })

  test('are bounded by account and in all: what is beyond is not stored, until there is room again', async () => {
    const { accountId, key, client } = await holder()
    await logFor(client, key, 7)
    const log = {
      request: 'x'.repeat(1_000),
      answer: '',
      isRequestTruncated: false,
      isAnswerTruncated: false,
    }
    const put = (limits: { bytesPerAccount: number; bytesInAll: number }) => {
      const sealer = createSealer([randomBytes(32)], PROMPT_LOG_PURPOSE)
      const owner = { accountId, keyId: key.id, callId: newCallId() }
      return createPromptLogStore(stack.postgres, sealer, limits).put(owner, log, 1)
    }
    const ample = 1_000_000_000
    expect(await put({ bytesPerAccount: 2_000, bytesInAll: ample })).toBe(true)
    expect(await put({ bytesPerAccount: 2_000, bytesInAll: ample })).toBe(false)
    const others = Number(
      (await stack.postgres.promptLogBytes.aggregate({ _sum: { bytes: true } }))._sum.bytes,
    )
    // As much as the account would have is not left for others.
    expect(await put({ bytesPerAccount: ample, bytesInAll: others + 1_500 })).toBe(false)
    expect(await put({ bytesPerAccount: ample, bytesInAll: others + 5_000 })).toBe(true)
  })

  test('are none of a call that a provider refuses', async () => {
    const { client, key, caller } = await holder()
    await logFor(client, key, 7)
    await ask(caller, asking('test/refused'))
    const { id } = await ask(caller, asking())
    await stored(id!)
    expect(await stack.postgres.promptLog.count({ where: { keyId: key.id } })).toBe(1)
  })
})
