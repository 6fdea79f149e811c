import { offerOfAccountSubject, providerOfOffer } from '../failover/circuit-breaker.ts'
import { keyOfSubject } from '../failover/key-health.ts'
import { HOUR_MS, MINUTE_MS } from '../kernel/time.ts'
import { type Alarm, type AlarmFields, NO_SUBJECT } from './alarm.ts'
import type { Severity } from './severity.ts'

type Facts = Pick<Alarm, 'subject' | 'fields'>

interface AlarmKind {
  severity: Severity
  /**
   * When the alarm ends: when a process logs its resolution, when it was not raised for this many milliseconds, or, for
   * a single event, when an operator acknowledges it.
   */
  ends: 'reported' | 'acknowledged' | { quietMs: number }
  /** The event in one sentence that names the subject. */
  sentence: (alarm: Facts) => string
  /** The operators' page below `/admin`; by default that of the call, provider or account in the fields. */
  page?: string
}

/** A field as text; numbers are grouped, and have a minus sign. */
function of(fields: AlarmFields, name: string): string {
  const value = fields[name] ?? 'unknown'
  return typeof value === 'number' ? value.toLocaleString('en').replace('-', '−') : String(value)
}

const amountOf = (fields: AlarmFields, failures: string, attempts: string): string =>
  typeof fields[failures] === 'number' && typeof fields[attempts] === 'number'
    ? `${fields[failures]} of ${fields[attempts]} attempts failed`
    : 'too many attempts failed'

/** `openai/gpt-5 at provider alpha` or `provider alpha`; for the breaker of one account, also the account. */
function breakerName(subject: string): string {
  const key = keyOfSubject(subject)
  if (key) return `key ${key.keyId} of ${breakerName(key.offerId.replace(/\/$/, ''))}`
  const offer = offerOfAccountSubject(subject) ?? subject
  const provider = providerOfOffer(offer)
  if (provider === offer) return `provider ${provider}`
  const account = offer === subject ? '' : ` for ${subject.slice(subject.lastIndexOf(':') + 1)}`
  return `${offer.slice(provider.length + 1)} at provider ${provider}${account}`
}

/** The same at the start of a sentence, where an id would get a capital. */
function breakerSubject(subject: string): string {
  const name = breakerName(subject)
  return name.startsWith('provider ') ? name : `model ${name}`
}

/** ` (shard 2)`, or nothing where there is one shard. */
const inShard = (subject: string): string => (subject === NO_SUBJECT ? '' : ` (${subject})`)

const event = { ends: 'acknowledged' } as const
const condition = { ends: 'reported' } as const
const quietFor = (quietMs: number) => ({ ends: { quietMs } })

/** Every kind of alarm. docs/runbook.md has an entry for each. */
export const ALARM_KINDS: Readonly<Record<string, AlarmKind>> = {
  'breaker-opened': {
    severity: 'warning',
    ...condition,
    sentence: ({ subject, fields }) =>
      fields.probeFailed === true
        ? `Circuit breaker of ${breakerName(subject)} stays open: a trial request failed.`
        : `Circuit breaker of ${breakerName(subject)} opened: ${amountOf(fields, 'failures', 'attempts')}.`,
  },
  'provider-refused': {
    severity: 'critical',
    ...condition,
    sentence: ({ subject }) =>
      `Circuit breaker of ${breakerName(subject)} opened: it refuses our key, our balance there or the model.`,
  },
  'platform-key-refused': {
    severity: 'critical',
    ...event,
    sentence: ({ subject, fields }) =>
      `Provider ${subject} refuses the gateway's key (${of(fields, 'key')}): ${of(fields, 'reason') === 'unauthorized' ? 'it is not valid' : 'it asks for payment'}.`,
  },
  'platform-keys-resting': {
    severity: 'warning',
    ...quietFor(10 * MINUTE_MS),
    sentence: ({ subject, fields }) =>
      `No key of the gateway takes calls at offer ${subject}, by limits or refusals, until ${of(fields, 'until')}.`,
  },
  'usage-absurd': {
    severity: 'warning',
    ...event,
    sentence: ({ subject, fields }) =>
      `${breakerSubject(subject)} reported invalid usage: ${of(fields, 'reportedPrompt')} input and ${of(fields, 'reportedCompletion')} output tokens.`,
  },
  'finish-reason-unknown': {
    severity: 'warning',
    ...event,
    sentence: ({ fields }) =>
      `Provider ${of(fields, 'providerId')} ended a completion with the unknown finish reason "${of(fields, 'reason')}".`,
  },
  'limit-ignored': {
    severity: 'warning',
    ...event,
    sentence: ({ subject, fields }) =>
      `${breakerSubject(subject)} ignored a limit of ${of(fields, 'completionLimit')} output tokens and was stopped after ${of(fields, 'tokens')}.`,
  },
  'prompt-bound-exceeded': {
    severity: 'warning',
    ...event,
    sentence: ({ subject, fields }) =>
      `${breakerSubject(subject)} counted ${of(fields, 'reportedPrompt')} input tokens for a prompt of ${of(fields, 'kinds')}, above our bound of ${of(fields, 'bound')}. ${fields.excludedFor == null ? `Its calls hold ${of(fields, 'learned')} more from now on.` : `It gets no such prompts of ${of(fields, 'excludedFor')} for six hours.`}`,
  },
  'model-list-implausible': {
    severity: 'warning',
    ...quietFor(HOUR_MS),
    sentence: ({ subject, fields }) =>
      `The model list of provider ${subject} lacks ${of(fields, 'missing')} of ${of(fields, 'offered')} models; it is ignored.`,
  },
  'catalog-edits-unusable': {
    severity: 'critical',
    ...event,
    sentence: () => 'The catalog overrides could not be used; processes run on the last good catalog.',
    page: '/catalog',
  },
  'price-file-unusable': {
    severity: 'warning',
    ...quietFor(HOUR_MS),
    sentence: ({ subject }) => `The ${subject} could not be used; its last good prices stay.`,
    page: '/catalog',
  },
  'provider-key-sealed': {
    severity: 'critical',
    ...event,
    sentence: ({ fields }) =>
      `Provider key ${of(fields, 'providerKeyId')} of a customer cannot be decrypted with the configured master keys.`,
    page: '/accounts',
  },
  'redis-emptied': {
    severity: 'critical',
    ...event,
    sentence: ({ subject }) =>
      `Redis lost its data${inShard(subject)}; it is being restored from PostgreSQL and the running workers.`,
    page: '',
  },
  'redis-refuses-writes': {
    severity: 'critical',
    ...quietFor(2 * MINUTE_MS),
    sentence: ({ subject, fields }) =>
      subject === NO_SUBJECT
        ? 'Redis refuses writes; no calls can be admitted.'
        : `A Redis server refuses writes; no calls of the accounts of its shards (${of(fields, 'shards')}) can be admitted.`,
    page: '',
  },
  'redis-shards-away': {
    severity: 'critical',
    ...quietFor(2 * MINUTE_MS),
    sentence: ({ fields }) =>
      `A Redis server does not respond; no calls of the accounts of its shards (${of(fields, 'shards')}) can be admitted.`,
    page: '',
  },
  'clock-skew': {
    severity: 'warning',
    ...event,
    sentence: ({ fields }) => `The clock of a host is ${of(fields, 'aheadMs')} ms ahead of that of Redis.`,
    page: '',
  },
  'partitions-missing': {
    severity: 'warning',
    ...condition,
    sentence: () => 'The monthly partitions of the database could not be created.',
    page: '',
  },
  'job-slow': {
    severity: 'warning',
    ...quietFor(HOUR_MS),
    sentence: ({ subject, fields }) =>
      `The scheduled job ${subject} took ${of(fields, 'durationMs')} ms, more than the ${of(fields, 'slowMs')} ms that are expected.`,
    page: '',
  },
  'archive-failed': {
    severity: 'warning',
    ...condition,
    sentence: ({ fields }) => `The calls of ${of(fields, 'month')} could not be archived.`,
    page: '/ledger',
  },
  'reports-replica-away': {
    severity: 'warning',
    ...condition,
    sentence: () => 'The replica for reports is away or too far behind; reports are read from the primary.',
    page: '',
  },
  'analytics-away': {
    severity: 'warning',
    ...condition,
    sentence: () => 'ClickHouse is away or too far behind; usage is read from PostgreSQL.',
    page: '',
  },
  'settlement-waits': {
    severity: 'critical',
    ...condition,
    sentence: ({ subject }) => `Settlement is blocked${inShard(subject)}: finished calls wait to be charged.`,
    page: '',
  },
  'settlement-backlog-full': {
    severity: 'critical',
    ...condition,
    sentence: ({ fields }) =>
      `New calls are refused: ${of(fields, 'bytes')} bytes of finished calls wait in Redis to be charged.`,
    page: '',
  },
  'settlement-quarantined': {
    severity: 'critical',
    ...event,
    sentence: ({ fields }) =>
      `The settlement of call ${of(fields, 'callId')} was rejected and waits for a decision.`,
  },
  'charge-credited': {
    severity: 'warning',
    ...quietFor(HOUR_MS),
    sentence: ({ subject }) =>
      `Charges of account ${subject} were credited: its clients had received errors for these calls.`,
  },
  'balance-drifted': {
    severity: 'warning',
    ...event,
    sentence: ({ subject }) =>
      `The balance cache of account ${subject} differed from the ledger; it was rebuilt.`,
  },
  'ledger-went-back': {
    severity: 'critical',
    ...event,
    sentence: ({ fields }) =>
      fields.calls === undefined
        ? 'PostgreSQL lost commits of settlements; dispatch workers enqueue those of the last minutes again.'
        : `PostgreSQL lost commits; the settlements of ${of(fields, 'calls')} calls of the last minutes were enqueued again.`,
    page: '/ledger',
  },
  overspent: {
    severity: 'critical',
    ...event,
    sentence: ({ subject }) => `The open holds of account ${subject} exceed its balance.`,
  },
  'calls-lost': {
    severity: 'warning',
    ...event,
    sentence: ({ subject, fields }) =>
      `${of(fields, 'calls')} calls of account ${subject} were lost with their process; their holds were released.`,
  },
  'audit-failed': {
    severity: 'critical',
    ...condition,
    sentence: ({ fields }) =>
      `The audit of the ledger found ${of(fields, 'broken')} discrepancies, first at: ${of(fields, 'check')}.`,
    page: '/ledger',
  },
  'configuration-drift': {
    severity: 'warning',
    ...condition,
    sentence: ({ fields }) =>
      `The gateway differs from its file, in all by ${of(fields, 'differences')}: ${of(fields, 'first')}.`,
    page: '',
  },
  'audit-not-run': {
    severity: 'warning',
    ...condition,
    sentence: () => 'The ledger could not be audited.',
    page: '/ledger',
  },
  'payment-refused': {
    severity: 'warning',
    ...event,
    sentence: ({ subject }) =>
      `A message of a payment provider about payment ${subject} contradicts what we know and was not applied.`,
  },
  'payment-webhook-missed': {
    severity: 'warning',
    ...event,
    sentence: ({ subject, fields }) =>
      `Money of payment ${subject} came in or went back at ${of(fields, 'rail')}, and no webhook reported it.`,
  },
  'payment-unknown': {
    severity: 'critical',
    ...event,
    sentence: ({ fields }) =>
      `${of(fields, 'rail')} has money of payment ${of(fields, 'paymentId')}, which is not known here.`,
    page: '/ledger',
  },
  'returns-not-reconciled': {
    severity: 'warning',
    ...quietFor(26 * HOUR_MS),
    sentence: ({ subject }) => `The daily list of ${subject} could not be read.`,
    page: '/ledger',
  },
  'call-stops-workers': {
    severity: 'critical',
    ...event,
    sentence: ({ subject, fields }) =>
      `Call ${of(fields, 'callId')} of account ${subject} was ended: dispatch workers died or stood still twice while they prepared it.`,
  },
  'account-suspended': {
    severity: 'info',
    ...event,
    sentence: ({ fields }) =>
      `Account ${of(fields, 'accountId')} was suspended: money of payment ${of(fields, 'paymentId')} went back.`,
  },
  'uncharged-cost': {
    severity: 'warning',
    ...event,
    sentence: ({ subject, fields }) =>
      `Account ${subject} was ${of(fields, 'action') === 'account.suspend' ? 'suspended' : 'slowed down'}: it caused ${of(fields, 'caused_usd')} USD of unpaid provider cost, and was charged ${of(fields, 'charged_usd')} USD.`,
  },
  'call-payment-unpaid': {
    severity: 'warning',
    ...event,
    sentence: ({ fields }) => `Call ${of(fields, 'callId')} was served, and its payment was refused.`,
  },
  'call-payment-unproven': {
    severity: 'warning',
    ...event,
    sentence: ({ fields }) => `It is not known whether call ${of(fields, 'callId')} was paid.`,
  },
  'free-credit-budget-used': {
    severity: 'info',
    ...event,
    sentence: () => 'The free credit of this hour is used up: new accounts are opened without credit.',
    page: '/accounts',
  },
  'webhook-endpoint-disabled': {
    severity: 'info',
    ...event,
    sentence: ({ subject, fields }) =>
      `Webhook endpoint ${subject} of a customer was disabled: ${of(fields, 'reason')}.`,
    page: '/accounts',
  },
  'mail-not-sent': {
    severity: 'warning',
    ...quietFor(30 * MINUTE_MS),
    sentence: () => 'Email could not be sent; it is retried for half an hour.',
    page: '',
  },
  'alarm-not-delivered': {
    severity: 'critical',
    ...quietFor(HOUR_MS),
    sentence: ({ fields }) =>
      `Alarms do not reach the destination "${of(fields, 'name')}": ${of(fields, 'reason')}.`,
    page: '/alarms',
  },
}

export const severityOf = (kind: string): Severity => ALARM_KINDS[kind]?.severity ?? 'warning'

/** Kinds that end when they were not raised for this many milliseconds. */
export const QUIET_KINDS: ReadonlyArray<{ kind: string; quietMs: number }> = Object.entries(
  ALARM_KINDS,
).flatMap(([kind, { ends }]) => (typeof ends === 'object' ? [{ kind, quietMs: ends.quietMs }] : []))

/** Whether an acknowledgement ends the alarm, because it is a single event. */
export const endsWhenAcknowledged = (kind: string): boolean =>
  (ALARM_KINDS[kind]?.ends ?? 'acknowledged') === 'acknowledged'

/** The text of an alarm, one sentence. A kind of a newer release uses the text of its log line. */
export function alarmSentence(alarm: Pick<Alarm, 'kind' | 'subject' | 'fields' | 'message'>): string {
  const kind = ALARM_KINDS[alarm.kind]
  if (kind) return capitalized(kind.sentence(alarm))
  return `${capitalized(alarm.message)}${alarm.subject === NO_SUBJECT ? '' : ` (${alarm.subject})`}.`
}

const capitalized = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1)

/** The path of the operators' page about the subject of an alarm. */
export function alarmPage({ kind, subject, fields }: Pick<Alarm, 'kind' | 'subject' | 'fields'>): string {
  const { page } = ALARM_KINDS[kind] ?? {}
  if (page !== undefined) return `/admin${page}`
  const {
    callId,
    offerId,
    providerId,
    accountId = subject.startsWith('acct_') ? subject : undefined,
  } = fields
  if (typeof callId === 'string') return `/admin/calls/${encodeURIComponent(callId)}`
  if (typeof accountId === 'string') return `/admin/accounts/${encodeURIComponent(accountId)}`
  const provider = providerId ?? offerId ?? subject
  if (typeof provider === 'string' && provider !== NO_SUBJECT && !provider.startsWith('pay_'))
    return `/admin/providers/${encodeURIComponent(providerOfOffer(provider))}`
  return '/admin/alarms'
}

/** The account that an alarm is about; null: none. The statement in alarm-store.ts finds the same. */
export const alarmAccount = ({ subject, fields }: Facts): string | null =>
  /acct_[0-9A-Z]+/.exec(String(fields.accountId ?? subject))?.[0] ?? null

/** The path of the runbook entry of a kind. */
export const runbookPage = (kind: string): string => `/admin/alarms?tab=runbook#${encodeURIComponent(kind)}`
