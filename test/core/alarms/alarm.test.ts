import { expect, test } from 'vitest'
import { type AlarmCount, addAlarms, alarmsOf, parseAlarmCount } from '../../../src/core/alarms/alarm.ts'

const alarmOf = (logged: unknown, message: string) => alarmsOf(logged, message)[0] ?? null

test('a log line without an alarm raises none', () => {
  for (const logged of [
    null,
    undefined,
    'alarm',
    5,
    {},
    { alarm: '' },
    { alarm: 7 },
    { err: new Error('x') },
  ]) {
    expect(alarmOf(logged, 'a line')).toBeNull()
  }
})

test('an alarm is about what it names, the most telling first, and never about one call', () => {
  const about = (fields: object) => alarmOf({ alarm: 'a', ...fields }, 'm')?.subject
  expect(about({ accountId: 'acct_1', offerId: 'alpha/x' })).toBe('alpha/x')
  expect(about({ subject: 's', offerId: 'alpha/x' })).toBe('s')
  expect(about({ paymentId: 'pay_1', accountId: 'acct_1' })).toBe('pay_1')
  expect(about({ callId: 'chatcmpl_1', requestId: 'r' })).toBe('-')
})

test('nothing that may be a secret or a text of a client or provider is kept', () => {
  const secret = 'sk-proj-abcdef1234567890'
  const alarm = alarmOf(
    {
      alarm: 'provider-refused',
      err: new Error(secret),
      internal: `Incorrect API key provided: ${secret}`,
      messages: [{ content: 'prompt' }],
      claimed: { promptTokens: 1 },
      reason: `key ${secret} is bad, token ${'A1'.repeat(30)}`,
      offerId: 'together/meta-llama/Meta-Llama-3.1-405B-Instruct-Turbo',
      keyId: 'key_01ARZ3NDEKTSV4RRFFQ69G5FAV',
      availPico: -5n,
      httpStatus: 401,
      kind: null,
    },
    'a provider refuses our key',
  )
  expect(alarm?.fields).toEqual({
    reason: 'key [redacted] is bad, token [redacted]',
    offerId: 'together/meta-llama/Meta-Llama-3.1-405B-Instruct-Turbo',
    keyId: 'key_01ARZ3NDEKTSV4RRFFQ69G5FAV',
    availPico: '-5',
    httpStatus: 401,
    kind: null,
  })
})

test('an alarm stays small, whatever is logged with it', () => {
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`f${index}`, 'x '.repeat(500)]))
  const alarm = alarmOf({ alarm: 'a'.repeat(1_000), ...many }, 'm '.repeat(1_000))
  expect(JSON.stringify(alarm).length).toBeLessThan(5_000)
})

test('repetitions add up and the latest speaks', () => {
  const alarm = (at: number, count: number): AlarmCount => ({
    kind: 'a',
    subject: 's',
    message: `at ${at}`,
    fields: {},
    firstAt: at,
    lastAt: at + 5,
    isOver: false,
    count,
  })
  expect(addAlarms(undefined, alarm(10, 2))).toEqual(alarm(10, 2))
  const sum = { ...alarm(20, 5), firstAt: 10 }
  expect(addAlarms(alarm(10, 2), alarm(20, 3))).toEqual(sum)
  expect(addAlarms(alarm(20, 3), alarm(10, 2))).toEqual(sum)
})

test('a condition is over when the last of its lines says so, and what raised it still speaks', () => {
  const [over] = alarmsOf({ alarmsOver: ['a'], subject: 's' }, 'mended')
  expect(over).toMatchObject({ kind: 'a', subject: 's', isOver: true })
  const raised = { kind: 'a', subject: 's', message: 'broke', fields: {}, count: 1, isOver: false }
  const at = (time: number) => ({ firstAt: time, lastAt: time })
  const sum = addAlarms({ ...raised, ...at(1) }, { ...over!, count: 0, ...at(2) })
  expect(sum).toEqual({ ...raised, isOver: true, firstAt: 1, lastAt: 2 })
  expect(addAlarms(sum, { ...raised, ...at(3) })).toMatchObject({ count: 2, isOver: false })
})

test('stream entries that are not alarms are skipped', () => {
  const alarm = { ...alarmOf({ alarm: 'a' }, 'm'), count: 1, firstAt: 1, lastAt: 1 }
  expect(parseAlarmCount(JSON.stringify(alarm))).toEqual(alarm)
  for (const text of ['', '{', 'null', '[]', '{"kind":"a"}', JSON.stringify({ ...alarm, count: 'x' })]) {
    expect(parseAlarmCount(text)).toBeNull()
  }
})
