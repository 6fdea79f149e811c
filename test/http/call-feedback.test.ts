import { expect, test } from 'vitest'
import type { RouterView } from '../../src/core/api/router.ts'
import { ask } from '../helpers/chat-client.ts'
import { testAccount, testStack } from '../helpers/resources.ts'
import { expectError } from './wire.ts'

const stack = testStack({
  models: {
    'test/plain': [{ at: 'alpha', model: 'words-12' }],
    'test/other': [{ at: 'beta', model: 'words-9' }],
    'test/gone': { offers: [{ at: 'gamma', model: 'status-503' }], auto: false },
  },
})
const owner = testAccount(stack, '20.00')
const other = testAccount(stack, '20.00')

const send = (id: string | null, body: unknown, { key = owner.key, version = 'v1' } = {}) =>
  fetch(`${stack.url}/${version}/generations/${id}/feedback`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
const feedback = () =>
  stack.postgres.callFeedback.findMany({
    select: { accountId: true, kind: true, modelId: true, outcome: true },
  })

test('feedback on a call of auto is kept once a call, with kind and model, and the last score counts', async () => {
  const { id } = await ask(owner, {
    model: 'auto',
    messages: [{ role: 'user', content: 'Solve $x^2 = 2$.' }],
  })
  const first = await send(id, { score: 'good' })
  expect(first.status).toBe(200)
  expect(first.headers.get('cache-control')).toBe('no-store')
  expect(await first.json()).toEqual({ id, object: 'generation.feedback', score: 1 })
  for (const version of ['v1', 'v2']) expect((await send(id, { score: 0.25 }, { version })).status).toBe(200)
  expect(await feedback()).toEqual([
    {
      accountId: owner.accountId,
      kind: 'formulas',
      modelId: expect.stringMatching(/^test\/(plain|other)$/),
      outcome: 0.25,
    },
  ])
  await stack.postgres.$executeRaw`DELETE FROM call_feedback`
})

test('feedback is taken of the own calls of auto only, within 30 days, from 0 to 1', async () => {
  const { id } = await ask(owner, { model: 'auto' })
  await expectError(await send(id, { score: 'bad' }, { key: other.key }), 404, 'not_found')
  await expectError(await send('chatcmpl_none', { score: 'bad' }), 404, 'not_found')
  for (const body of [{ score: 1.1 }, { score: 'fine' }, {}, { score: 1, text: 'thanks' }])
    expect((await send(id, body)).status).toBe(400)
  const { id: named } = await ask(owner, { model: 'test/plain' })
  await expectError(await send(named, { score: 1 }), 400, 'invalid_request')
  expect((await send(id, { score: 1 })).status).toBe(200)
  const before = Date.now() - 31 * 86_400_000
  await stack.postgres.$executeRaw`UPDATE call_records SET admitted_at_ms = ${before} WHERE id = ${id}`
  await expectError(await send(id, { score: 0 }), 400, 'invalid_request')
  expect((await feedback()).map(({ outcome }) => outcome)).toEqual([1])
  await stack.postgres.$executeRaw`DELETE FROM call_feedback`
})

test('the report of what auto chose shows feedback by model and kind, and routing does not heed it', async () => {
  const messages = [{ role: 'user' as const, content: 'Solve $x^2 = 2$.' }]
  const served = async (score: string) => {
    const { id } = await ask(owner, { model: 'auto', messages })
    await stack.settled(owner.accountId)
    expect((await send(id, { score })).status).toBe(200)
    return (await stack.postgres.callRecord.findUniqueOrThrow({ where: { id: id! } })).servedModelId!
  }
  const first = await served('bad')
  for (let call = 0; call < 9; call++) expect(await served('bad')).toBe(first)
  const report = await fetch(`${stack.url}/admin/api/router`, {
    headers: { authorization: `Bearer ${await stack.adminKey()}` },
  })
  const { choices, latest_calls: latest } = (await report.json()) as RouterView
  expect(latest).toBe(50_000)
  const formulas = choices.filter(({ kind }) => kind === 'formulas')
  expect(formulas).toMatchObject([{ model: first, share: 1, feedback: 10, satisfaction: 0 }])
  expect(formulas[0]!.quality).toBeGreaterThan(0)
  expect(formulas[0]!.standard_error).toBeGreaterThan(0)
})
