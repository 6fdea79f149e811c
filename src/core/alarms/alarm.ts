/** Details of an alarm: short values only. */
export type AlarmFields = Record<string, string | number | boolean | null>

/** A condition that needs an operator's attention; repetitions of a kind and subject are counted. */
export interface Alarm {
  kind: string
  subject: string
  message: string
  fields: AlarmFields
}

/**
 * Repetitions of an alarm, and whether its condition ended after the last one. With a count of 0 only the end is
 * reported. Times in unix milliseconds; fields and message of the last.
 */
export interface AlarmCount extends Alarm {
  count: number
  isOver: boolean
  firstAt: number
  lastAt: number
}

/**
 * Fields that may be the subject of an alarm, most specific first. A call's id is not one, since each call would raise
 * a separate alarm.
 */
const SUBJECTS = [
  'subject',
  'offerId',
  'providerId',
  'endpointId',
  'paymentId',
  'accountId',
  'keyId',
] as const
export const NO_SUBJECT = '-'

/** Fields that may contain a secret, a prompt, or a provider's message. */
const UNSAFE = new Set(
  'err error cause internal message messages text content body prompt sealedBody apiKey key secret authorization event'.split(
    ' ',
  ),
)
const SECRET = /\b(?:sk|pk|rk|gsk|xai|whsec|ghp|AIza|Bearer)[-_ ][\w*.-]{6,}|\b[A-Za-z0-9_+=]{40,}/g
const FIELDS_MAX = 16
const NAME_MAX = 100
const TEXT_MAX = 200

/**
 * The alarms raised or ended by the fields of a log line: `alarm` is a kind that is raised, `alarmsOver` the kinds
 * whose condition ended. Contains nothing that may be secret.
 */
export function alarmsOf(logged: unknown, message: string): Array<Alarm & { isOver: boolean }> {
  if (typeof logged !== 'object' || logged === null || !('alarm' in logged || 'alarmsOver' in logged))
    return []
  const { alarm, alarmsOver = [], ...others } = logged as Record<string, unknown>
  const raised = typeof alarm === 'string' && alarm !== '' ? [alarm] : []
  return [
    ...raised.map((kind) => ({ ...readAlarm(kind, others, message), isOver: false })),
    ...(alarmsOver as string[]).map((kind) => ({ ...readAlarm(kind, others, message), isOver: true })),
  ]
}

function readAlarm(alarm: string, logged: Record<string, unknown>, message: string): Alarm {
  const fields = safeFields(logged)
  const named = SUBJECTS.map((name) => fields[name]).find((value) => typeof value === 'string')
  const subject = String(named ?? NO_SUBJECT).slice(0, NAME_MAX)
  return { kind: alarm.slice(0, NAME_MAX), subject, message: message.slice(0, TEXT_MAX), fields }
}

function safeFields(fields: Record<string, unknown>): AlarmFields {
  const safe = Object.entries(fields).flatMap(([name, value]): Array<[string, AlarmFields[string]]> => {
    if (UNSAFE.has(name)) return []
    if (typeof value === 'string') return [[name, value.slice(0, TEXT_MAX).replace(SECRET, '[redacted]')]]
    if (typeof value === 'bigint') return [[name, String(value)]]
    return isPlain(value) ? [[name, value]] : []
  })
  return Object.fromEntries(safe.slice(0, FIELDS_MAX))
}

/** Merges repetitions of an alarm. */
export function addAlarms(before: AlarmCount | undefined, more: AlarmCount): AlarmCount {
  if (before === undefined) return more
  const latest = more.lastAt >= before.lastAt ? more : before
  return {
    // The end of an alarm has fewer details than its start.
    ...(latest.count === 0 ? { ...before, isOver: latest.isOver } : latest),
    count: before.count + more.count,
    firstAt: Math.min(before.firstAt, more.firstAt),
    lastAt: latest.lastAt,
  }
}

/** Parses an alarm from the stream, with storable text; null for anything else. */
export function parseAlarmCount(text: string): AlarmCount | null {
  let value: Partial<AlarmCount> | null
  try {
    value = JSON.parse(text)
  } catch {
    return null
  }
  if (typeof value !== 'object' || value === null) return null
  const { kind, subject, message, count, isOver = false, firstAt, lastAt, fields } = value
  if (typeof kind !== 'string' || typeof subject !== 'string' || typeof message !== 'string') return null
  if (!isCount(count) || typeof isOver !== 'boolean' || !isTime(firstAt) || !isTime(lastAt)) return null
  if (typeof fields !== 'object' || fields === null) return null
  const named = Object.entries(fields).flatMap(([name, field]): Array<[string, AlarmFields[string]]> => {
    if (typeof field === 'string') return [[storable(name), storable(field)]]
    return isPlain(field) ? [[storable(name), field]] : []
  })
  return {
    kind: storable(kind),
    subject: storable(subject),
    message: storable(message),
    count,
    isOver,
    firstAt,
    lastAt,
    fields: Object.fromEntries(named),
  }
}

const isPlain = (value: unknown): value is number | boolean | null =>
  value === null || typeof value === 'number' || typeof value === 'boolean'

const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0

/** Unix milliseconds in the range of `Date`. */
const isTime = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= 8.64e15

/** Replaces characters that PostgreSQL cannot store: NUL, and lone surrogates left by truncation. */
const storable = (text: string): string => text.toWellFormed().replaceAll('\0', '\uFFFD')
