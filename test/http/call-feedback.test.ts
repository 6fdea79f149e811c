import { expect, test } from 'vitest'
import { installVersion, learn, listVersions, rollbackVersion } from '../../src/cli/router-versions.ts'
import type { RouterView } from '../../src/core/api/router.ts'
import { createOutcomeStore } from '../../src/routing/learning/outcome-store.ts'
import { outcomeVector } from '../../src/routing/learning/outcome-vector.ts'
import { ask } from '../helpers/chat-client.ts'
import { eventually } from '../helpers/eventually.ts'
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
const adminRouter = async (
  key: string,
  method: string,
  path: string,
  body?: unknown,
): Promise<RouterView> => {
  const headers = {
    authorization: `Bearer ${key}`,
    ...(body !== undefined && { 'content-type': 'application/json' }),
  }
  const response = await fetch(`${stack.url}/admin/api/router${path}`, {
    ...{ method, headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  expect(response.status).toBe(200)
  return (await response.json()) as RouterView
}
const outcomes = () => createOutcomeStore(stack.postgres).read()

test('feedback on a call of auto is kept once a call, with kind, model and cost, and the last score counts', async () => {
  const { id } = await ask(owner, {
    model: 'auto',
    messages: [{ role: 'user', content: 'Solve $x^2 = 2$.' }],
  })
  const first = await send(id, { score: 'good' })
  expect(first.status).toBe(200)
  expect(first.headers.get('cache-control')).toBe('no-store')
  expect(await first.json()).toEqual({ id, object: 'generation.feedback', score: 1 })
  for (const version of ['v1', 'v2']) expect((await send(id, { score: 0.25 }, { version })).status).toBe(200)
  expect(await outcomes()).toEqual([
    {
      accountId: owner.accountId,
      kind: 'formulas',
      score: expect.any(Number),
      modelId: expect.stringMatching(/^test\/(plain|other)$/),
      outcome: 0.25,
      costPico: expect.any(BigInt),
      pair: null,
    },
  ])
  await stack.postgres.$executeRaw`DELETE FROM router_outcomes`
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
  expect((await outcomes()).map(({ outcome }) => outcome)).toEqual([1])
})

test('what is learned of outcomes applies once it is installed, without a restart, until it is rolled back', async () => {
  const store = createOutcomeStore(stack.postgres)
  const messages = [{ role: 'user' as const, content: 'Solve $x^2 = 2$.' }]
  const chosen = async () => {
    const { id } = await ask(owner, { model: 'auto', messages })
    await stack.settled(owner.accountId)
    const record = await stack.postgres.callRecord.findUniqueOrThrow({ where: { id: id! } })
    return record.servedModelId!
  }
  const first = await chosen()
  const better = first === 'test/plain' ? 'test/other' : 'test/plain'
  const vector = outcomeVector(messages)
  for (let call = 0; call < 40; call++)
    await store.putPair({
      ...{ callId: `pair-${call}`, accountId: owner.accountId, kind: 'formulas', score: 0.5, vector },
      ...{ modelId: first, outcome: call % 4 === 0 ? 1 : 0, costPico: 1n },
      ...{ otherModelId: better, otherOutcome: 1, otherCostPico: 1n },
    })
  const environment = { ...stack.environment, CATALOG_FILE: stack.catalogFile }
  const learned = await learn(environment, (catalog) => catalog)
  expect(learned.text).toContain('40 usable pairs, at least 300 are needed')
  expect(await chosen()).toBe(first)
  const { version } = learned.data as { version: string }
  const admin = await stack.adminKey()
  const installed = await adminRouter(admin, 'POST', '/install', { version })
  expect(installed).toMatchObject({
    installed: version,
    outcomes: { feedback: 1, pairs: 40 },
    least_pairs: 300,
  })
  expect(installed.versions).toMatchObject([{ version, is_installed: true, pairs: 40, ranking: null }])
  const changeOf = (model: string) =>
    installed.versions[0]!.changes.find((change) => change.model === model && change.kind === 'formulas')!
  expect(changeOf(better).after).toBeGreaterThan(changeOf(first).after)
  await eventually(async () => expect(await chosen()).toBe(better))
  expect((await listVersions(environment)).text).toContain('installed')
  expect((await rollbackVersion(environment)).text).toBe('The shipped router applies again.')
  await eventually(async () => expect(await chosen()).toBe(first))
  const { installed: now, choices } = await adminRouter(admin, 'GET', '')
  expect(now).toBeNull()
  const formulas = choices.filter(({ kind }) => kind === 'formulas')
  expect(formulas.map(({ model }) => model).toSorted()).toEqual(['test/other', 'test/plain'])
  expect(formulas.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1)
  for (const { quality, standard_error: error } of formulas) {
    expect(quality).toBeGreaterThan(0)
    expect(error).toBeGreaterThan(0)
  }
  await expect(installVersion('99', environment)).rejects.toThrow('no such version')
  const actions = await stack.postgres.operatorAction.findMany({
    where: { target: 'router' },
    orderBy: { id: 'asc' },
    select: { action: true, outcome: true },
  })
  expect(actions.map(({ action, outcome }) => `${action} ${outcome}`)).toEqual([
    'router.install asked',
    'router.rollback asked',
    'router.install asked',
    'router.install failed',
  ])
})
