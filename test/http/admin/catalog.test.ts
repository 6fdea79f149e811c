import { expect, test } from 'vitest'
import type {
  CatalogCheckView,
  CatalogEditsApplied,
  CatalogEditsRequest,
  CatalogEditsView,
  CatalogRevertRequest,
  CatalogView,
  RateHistoryView,
} from '../../../src/core/api/catalog.ts'
import type { OperatorActionView } from '../../../src/core/api/operations.ts'
import type { List, Page } from '../../../src/core/api/shared.ts'
import { ask } from '../../helpers/chat-client.ts'
import { eventually } from '../../helpers/eventually.ts'
import { testOperator, testStack } from '../../helpers/resources.ts'
import { expectError } from '../wire.ts'

const stack = testStack()
const admin = testOperator(stack)

const dearer = {
  changes: {
    models: [
      {
        id: 'test/one',
        list_price: { prompt: '3.20', completion: '4.25' },
        rate: { prompt: '3.00', completion: '4.00' },
      },
    ],
  },
}
const history = async () =>
  (await admin.get<List<RateHistoryView>>(`/models/${encodeURIComponent('test/one')}/history`)).data

test('an edit is checked, applied to calls, kept as a version of a price, and taken back', async () => {
  const before = await admin.get<CatalogView>('/catalog')
  expect(before).toMatchObject({ models: 1, available_models: 1, offers: 1, edits: null })
  await eventually(async () => expect(await history()).toHaveLength(1))

  const check = await admin.post<CatalogCheckView>('/catalog/check', { content: dearer })
  expect(check).toMatchObject({
    ...{ valid: true, problems: [], models: 1, counts: { offline: 0, loss: 0, free: 0, change: 1 } },
    effects: [
      {
        kind: 'change',
        model: 'test/one',
        message: 'test/one: input $1.00 → $3.00, output $2.00 → $4.00',
      },
    ],
  })
  const body: CatalogEditsRequest = { content: dearer, expected_version: null }
  const applied = await admin.post<CatalogEditsApplied>('/catalog/edits', body)
  expect(applied).toMatchObject({ announced: true, edits: { content: dearer } })
  expect(applied.edits.author).toMatch(/^key_/)
  // Whoever applied them sees them at once.
  expect((await history()).map(({ prompt }) => prompt)).toEqual(['3.00', '1.00'])
  const { data: actions } = await admin.get<Page<OperatorActionView>>('/actions?target=catalog')
  expect(actions[0]?.details.effects).toBe('test/one: input $1.00 → $3.00, output $2.00 → $4.00')

  const owner = await stack.account('10.00')
  await eventually(async () => {
    const { id } = await ask(owner, { model: 'test/one' })
    await stack.settled(owner.accountId)
    const record = await stack.postgres.callRecord.findUniqueOrThrow({ where: { id: id ?? '' } })
    expect(record.promptRatePico).toBe(3_000_000n)
  })

  const empty = await admin.post<CatalogEditsApplied>('/catalog/edits', {
    content: {},
    expected_version: applied.edits.version,
  })
  const revert: CatalogRevertRequest = { version: applied.edits.version }
  const reverted = await admin.post<CatalogEditsApplied>('/catalog/revert', revert)
  expect(reverted.edits.content).toEqual(dearer)
  const versions = (await admin.get<List<CatalogEditsView>>('/catalog/edits')).data
  expect(versions.map(({ version }) => version)).toEqual([
    reverted.edits.version,
    empty.edits.version,
    applied.edits.version,
  ])
})

test('the check of an edit lists its effects on calls: a model offline, a loss, a price of zero', async () => {
  const { edits } = await admin.get<CatalogView>('/catalog')
  const effectsOf = async (content: object) => {
    const { effects } = await admin.post<CatalogCheckView>('/catalog/check', { content })
    return effects.map(({ kind, message }) => `${kind}: ${message}`)
  }
  const offer = { provider: 'alpha', upstream_model: 'words-12' }
  expect(await effectsOf({ changes: { offers: [{ ...offer, disabled: true }] } })).toEqual(
    expect.arrayContaining([
      'offline: test/one will return 503: its only offer is disabled',
      'offline: auto will return 503: no model is left to choose',
    ]),
  )
  const free = { changes: { models: [{ id: 'test/one', rate: { prompt: '0', completion: '0' } }] } }
  expect(await effectsOf(free)).toEqual(
    expect.arrayContaining([
      'offline: test/one will return 503: its only offer costs more than its price',
      'loss: alpha receives no calls for test/one: it costs $0.50 / $0.50 and earns $0.00 / $0.00',
      'free: test/one: input and output will cost nothing',
    ]),
  )
  // Asking changes nothing.
  expect((await admin.get<CatalogView>('/catalog')).edits).toEqual(edits)
})

test('what is wrong with an edit is listed, and nothing changes; edits made from an old version are refused', async () => {
  const { edits } = await admin.get<CatalogView>('/catalog')
  const wrong = { changes: { models: [{ id: 'test/none', rate: { prompt: '3.00', completion: '4.00' } }] } }
  const check = await admin.post<CatalogCheckView>('/catalog/check', { content: wrong })
  expect(check.valid).toBe(false)
  expect(check.problems.join()).toContain('test/none')
  const refusal = await expectError(
    await admin.send('POST', '/catalog/edits', { content: wrong }),
    400,
    'invalid_request',
  )
  expect(refusal.message).toContain('test/none')
  await expectError(
    await admin.send('POST', '/catalog/edits', { content: dearer, expected_version: '999' }),
    409,
    'conflict',
  )
  await expectError(await admin.send('POST', '/catalog/revert', { version: '999' }), 404, 'not_found')
  await expectError(await admin.send('POST', '/catalog/edits', { content: 'x' }), 400, 'invalid_request')
  await expectError(await admin.send('GET', '/models/test%2Fnone/history'), 404, 'not_found')
  expect((await admin.get<CatalogView>('/catalog')).edits).toEqual(edits)
  const { data } = await admin.get<Page<OperatorActionView>>('/actions?target=catalog')
  expect(data.filter(({ outcome }) => outcome === 'failed').map(({ details }) => details.error)).toEqual(
    expect.arrayContaining(['invalid_request', 'conflict', 'not_found']),
  )
})
