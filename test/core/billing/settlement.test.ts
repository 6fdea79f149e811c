import { describe, expect, test } from 'vitest'
import { lostSettlement, settlementOf, unservedSettlement } from '../../../src/core/billing/settlement.ts'
import type { AttemptRecord, Candidate } from '../../../src/core/calls/call-job.ts'
import { type CallOutcome, failedCall } from '../../../src/core/calls/call-outcome.ts'
import { callCreatedAt, newCallId } from '../../../src/core/kernel/ids.ts'
import { candidateOf, envelopeOf } from '../../helpers/call-shapes.ts'
import { offer, provider, rates, snapshot } from '../../helpers/planned-catalog.ts'

const OFFERS = ['one', 'other'].map((model, index) =>
  offer(provider('acme'), 1, { cost: rates(3 + index, 4) }, model),
)
const CATALOG = snapshot([], OFFERS)
const TIMES = { claimedAt: 1, finishedAt: 2 }
const RATE = { prompt: '10', completion: '20' }
const USED = {
  usage: { promptTokens: 5, completionTokens: 3 },
  usageSource: 'upstream',
  usageClamped: false,
  attempts: [] as AttemptRecord[],
  firstTokenAt: 7,
} as const
const served = (more: Partial<Candidate> = {}) =>
  candidateOf({ offerId: 'acme/one', requestedModel: 'as-asked', rate: RATE, ...more })
const completed = (more: object = {}, candidate = served()): CallOutcome => ({
  ...USED,
  status: 'completed',
  served: candidate,
  message: { content: 'Hi' },
  finishReason: 'length',
  ...more,
})
const settle = (outcome: CallOutcome, envelope = {}) =>
  settlementOf(outcome, envelopeOf({ holdPico: '1000', ...envelope }), CATALOG, TIMES)

describe('the settlement of a served call', () => {
  test('charges the usage at the rate of the candidate that served, and notes what it cost us', () => {
    const envelope = { labels: { title: 'App' }, traceparent: 'trace', leastCallPico: '9', admittedAt: 5 }
    expect(settle(completed(), envelope)).toMatchObject({
      ...{ ...envelope, ...TIMES, status: 'completed', errorCode: null, finishReason: 'length' },
      ...{ requestedModel: 'as-asked', usage: USED.usage, usageSource: 'upstream', firstTokenAt: 7 },
      ...{ chargePico: '110', holdPico: '1000' },
      served: {
        offerId: 'acme/one',
        modelId: 'm',
        rate: RATE,
        rateVersion: 'v1',
        cost: { prompt: '3', completion: '4' },
      },
    })
    for (const name of ['labels', 'traceparent', 'leastCallPico', 'auto', 'isUnanswered'])
      expect(settle(completed())).not.toHaveProperty(name)
  })

  test.each([
    ['109', '109'],
    ['110', '110'],
    ['111', '110'],
  ])('charges no more than the hold: of %s it takes %s', (holdPico, chargePico) => {
    expect(settle(completed(), { holdPico })).toMatchObject({ chargePico, holdPico })
  })

  test('of a rescued completion charges the first rate, at the offer and the cost of the second', () => {
    const rescuedBy = served({
      offerId: 'acme/other',
      modelId: 'n',
      rate: { prompt: '99', completion: '99' },
    })
    expect(settle(completed({ rescuedBy }))).toMatchObject({
      chargePico: '110',
      served: { offerId: 'acme/other', modelId: 'm', rate: RATE, cost: { prompt: '4', completion: '4' } },
    })
  })

  test('notes no cost of ours on a BYOK key, or of an offer that left the catalog', () => {
    const free = { cost: { prompt: '0', completion: '0' } }
    const onKey = settle(
      completed({}, served({ providerKeyId: 'pkey_1', units: { kind: 'image', bound: 1 } })),
    )
    expect(onKey.served).toMatchObject({ ...free, providerKeyId: 'pkey_1', unit: 'image' })
    expect(settle(completed({}, served({ offerId: 'gone/one' }))).served).toMatchObject(free)
    expect(settle(completed()).served).not.toHaveProperty('providerKeyId')
    expect(settle(completed()).served).not.toHaveProperty('unit')
  })

  test('of one that broke off or was left charges what was used', () => {
    const error = { code: 'all_providers_failed', message: 'It broke off.' } as const
    const brokeOff = { ...USED, status: 'interrupted', served: served(), message: null, error } as const
    expect(settle(brokeOff)).toMatchObject({
      chargePico: '110',
      finishReason: 'error',
      errorCode: error.code,
    })
    const left = { ...USED, status: 'cancelled', served: served(), message: null } as const
    expect(settle({ ...left, isUnanswered: true })).toMatchObject({
      ...{ chargePico: '110', finishReason: null, errorCode: null, isUnanswered: true },
    })
    expect(settle({ ...left, served: null })).toMatchObject({ chargePico: '0', served: null })
  })
})

test('a failed call is charged nothing, under the name that was asked for', () => {
  const error = { code: 'request_timeout', message: 'Too late.' } as const
  expect(settle(failedCall(error), { requestedModel: 'auto' })).toMatchObject({
    ...{ status: 'failed', errorCode: error.code, served: null, chargePico: '0', holdPico: '1000' },
    ...{
      requestedModel: 'auto',
      usageSource: 'none',
      usage: { promptTokens: 0, completionTokens: 0 },
      ...TIMES,
    },
  })
})

test('a call that no worker served is charged nothing, and keeps what its caller had of it', () => {
  const envelope = envelopeOf({ holdPico: '1000', labels: { title: 'App' } })
  const record = unservedSettlement(envelope, 'failed', 'overloaded', 9, 4)
  const { id, accountId, keyId, requestId, requestedModel, stream, admittedAt, labels } = envelope
  expect(record).toEqual({
    ...{ id, accountId, keyId, requestId, requestedModel, stream, admittedAt, labels },
    ...{ status: 'failed', errorCode: 'overloaded', finishReason: null, served: null, chargePico: '0' },
    ...{ holdPico: '1000', usage: { promptTokens: 0, completionTokens: 4 }, usageSource: 'none' },
    ...{ usageClamped: false, attempts: [], claimedAt: null, firstTokenAt: null, finishedAt: 9 },
  })
  const left = unservedSettlement(envelopeOf(), 'cancelled', 'overloaded', 9)
  expect(left).toMatchObject({ errorCode: null, usage: { completionTokens: 0 } })
  expect(left).not.toHaveProperty('labels')
})

test('a call of which only the hold is left failed, at the time that its id names', () => {
  const id = newCallId(1_700_000_000_000)
  const lost = (callId: string) => lostSettlement('acct_1', { callId, keyId: 'key_1', amountPico: 7n }, 9)
  expect(lost(id)).toMatchObject({
    ...{
      id,
      requestId: id,
      accountId: 'acct_1',
      keyId: 'key_1',
      status: 'failed',
      errorCode: 'internal_error',
    },
    ...{
      holdPico: '7',
      chargePico: '0',
      served: null,
      attempts: [],
      stream: false,
      requestedModel: 'unknown',
    },
    ...{ admittedAt: callCreatedAt(id), finishedAt: 9 },
  })
  expect(lost('unreadable').admittedAt).toBe(9)
})
