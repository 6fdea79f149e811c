import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import {
  ALARM_KINDS,
  alarmPage,
  alarmSentence,
  endsWhenAcknowledged,
  severityOf,
} from '../../../src/core/alarms/alarm-kinds.ts'
import { BREAKER_ALARMS } from '../../../src/core/failover/circuit-breaker.ts'

const ROOT = new URL('../../../', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, ROOT), 'utf8')

const sources = globSync(['src/**/*.ts', 'workers/**/*.ts'], { cwd: ROOT })
  .filter((path) => !path.includes('prisma-client'))
  .map(read)
const raised = (field: RegExp) =>
  sources.flatMap((text) => [...text.matchAll(field)].flatMap(([match]) => match.match(/'[a-z-]+'/g) ?? []))

test('every alarm that a log line raises is a known kind, and every known kind is raised', () => {
  const kinds = raised(/alarm: '[a-z-]+'/g).map((kind) => kind.slice(1, -1))
  expect([...new Set([...kinds, ...BREAKER_ALARMS])].toSorted()).toEqual(Object.keys(ALARM_KINDS).toSorted())
})

test('whatever lasts until it is reported as over is reported as over somewhere', () => {
  const over = new Set([
    ...raised(/alarmsOver: \[[^\]]+\]/g).map((kind) => kind.slice(1, -1)),
    ...BREAKER_ALARMS,
  ])
  const reported = Object.entries(ALARM_KINDS).filter(([, { ends }]) => ends === 'reported')
  for (const [kind] of reported) expect(over).toContain(kind)
})

test('the runbook has one entry for each kind, with its severity', () => {
  const entries = read('docs/runbook.md').split(/^## /m).slice(1)
  const named = entries.map((entry) => /^[a-z-]+/.exec(entry)?.[0] ?? '')
  expect(named.toSorted()).toEqual(Object.keys(ALARM_KINDS).toSorted())
  for (const [index, entry] of entries.entries()) {
    const kind = named[index]!
    expect(entry.split('\n')[2]?.toLowerCase()).toMatch(new RegExp(`^${severityOf(kind)}[.,]`))
    expect(entry.includes(', lasts.')).toBe(!endsWhenAcknowledged(kind))
    expect(entry).toMatch(/^- /m)
  }
})

test('a sentence groups numbers, has a minus sign, and changes no id', () => {
  const fields = { reportedPrompt: -12, reportedCompletion: 1_000_000_000_000 }
  const alarm = { kind: 'usage-absurd', subject: 'alpha/sim-negative-usage', message: '', fields }
  expect(alarmSentence(alarm)).toBe(
    'Model sim-negative-usage at provider alpha reported invalid usage: −12 input and 1,000,000,000,000 output tokens.',
  )
  expect(alarmSentence({ ...alarm, subject: 'alpha' })).toMatch(/^Provider alpha reported/)
})

test('the sentence of an opened breaker names model, provider and figures', () => {
  const opened = (subject: string, fields = {}) =>
    alarmSentence({ kind: 'breaker-opened', subject, message: 'a breaker opened', fields })
  expect(opened('alpha/openai/gpt-5', { failures: 12, attempts: 20 })).toBe(
    'Circuit breaker of openai/gpt-5 at provider alpha opened: 12 of 20 attempts failed.',
  )
  expect(opened('alpha/x#account:acct_1', { failures: 5, attempts: 5 })).toBe(
    'Circuit breaker of x at provider alpha for acct_1 opened: 5 of 5 attempts failed.',
  )
  expect(opened('alpha/x', { probeFailed: true })).toBe(
    'Circuit breaker of x at provider alpha stays open: a trial request failed.',
  )
})

test('every kind has a sentence of its own, also without fields, and a page', () => {
  for (const kind of Object.keys(ALARM_KINDS)) {
    const alarm = { kind, subject: 'alpha/x', message: 'm', fields: {} }
    expect(alarmSentence(alarm)).toMatch(/^[A-Z].*\.$/)
    expect(alarmSentence(alarm)).not.toContain('undefined')
    expect(alarmPage(alarm)).toMatch(/^\/admin/)
  }
  expect(alarmSentence({ kind: 'of-tomorrow', subject: 's', message: 'it broke', fields: {} })).toBe(
    'It broke (s).',
  )
})

test('an alarm leads to the call, account or provider that it names', () => {
  const page = (kind: string, subject: string, fields = {}) => alarmPage({ kind, subject, fields })
  expect(page('breaker-opened', 'alpha/openai/gpt-5')).toBe('/admin/providers/alpha')
  expect(page('overspent', 'acct_1', { accountId: 'acct_1' })).toBe('/admin/accounts/acct_1')
  expect(page('settlement-quarantined', 'acct_1', { accountId: 'acct_1', callId: 'c1' })).toBe(
    '/admin/calls/c1',
  )
  expect(page('payment-refused', 'pay_1', { paymentId: 'pay_1' })).toBe('/admin/alarms')
})
