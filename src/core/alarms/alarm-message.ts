import type { Alarm } from './alarm.ts'
import { alarmPage, alarmSentence, runbookPage, severityOf } from './alarm-kinds.ts'
import { SEVERITIES, type Severity } from './severity.ts'

export type NoticeEvent = 'opened' | 'acknowledged' | 'resolved' | 'test'

/** An alarm at the time of a notice about it. */
export interface NoticedAlarm extends Alarm {
  count: number
  firstAt: Date
  acknowledgedBy: string | null
}

/** The content of a notice to a destination; a test has no alarm. */
export type Notice =
  | { event: Exclude<NoticeEvent, 'test'>; alarm: NoticedAlarm }
  | { event: 'test'; alarm: null }

/**
 * The sender of a notice. `source`: the gateway's host. `publicUrl`: base of links, without a trailing slash; null: no
 * links.
 */
export interface Sender {
  source: string
  publicUrl: string | null
}

/** Alarms named in one message; for the rest only their number. */
const NAMED_MAX = 20

const EVENT_WORDS = { opened: '', acknowledged: 'Acknowledged: ', resolved: 'Resolved: ', test: '' } as const
const TEST_SENTENCE = 'This is a test of an alarm destination. Nothing is wrong.'

interface Message {
  severity: Severity
  /** One line, up to 150 characters. */
  title: string
  lines: Array<{ text: string; links: Array<{ text: string; url: string }> }>
}

/** Builds one message about at least one notice. */
function messageOf(notices: readonly Notice[], sender: Sender): Message {
  const named = notices.slice(0, NAMED_MAX)
  const lines = named.map((notice) => ({ text: textOf(notice), links: linksOf(notice, sender) }))
  const more = notices.length - named.length
  if (more > 0) lines.push({ text: `And ${more} more.`, links: [] })
  const severity = worst(notices)
  if (notices.length > 1) return { severity, title: summaryOf(notices), lines }
  const [notice] = notices as [Notice]
  const word = notice.event === 'resolved' ? 'resolved' : severity
  const title = notice.event === 'test' ? 'Test of an alarm destination' : `[${word}] ${sentenceOf(notice)}`
  return { severity, title: title.slice(0, 150), lines }
}

/** `7 alarms opened (2 critical), 3 resolved`. */
function summaryOf(notices: readonly Notice[]): string {
  const count = (event: NoticeEvent) => notices.filter((notice) => notice.event === event).length
  const critical = notices.filter(
    (one) => one.event === 'opened' && severityOfNotice(one) === 'critical',
  ).length
  const parts = [
    count('opened') > 0 && `${count('opened')} alarms opened${critical > 0 ? ` (${critical} critical)` : ''}`,
    count('acknowledged') > 0 && `${count('acknowledged')} acknowledged`,
    count('resolved') > 0 && `${count('resolved')} resolved`,
    count('test') > 0 && `${count('test')} tests`,
  ]
  return parts.filter((part) => part !== false).join(', ')
}

const sentenceOf = ({ alarm }: Notice): string => (alarm ? alarmSentence(alarm) : TEST_SENTENCE)

function textOf(notice: Notice): string {
  const { event, alarm } = notice
  const repeated =
    alarm && alarm.count > 1 ? ` (${alarm.count} times since ${alarm.firstAt.toISOString()})` : ''
  const by = event === 'acknowledged' && alarm?.acknowledgedBy ? ` By ${alarm.acknowledgedBy}.` : ''
  return `${EVENT_WORDS[event]}${sentenceOf(notice)}${by}${repeated}`
}

function linksOf({ alarm }: Notice, { publicUrl }: Sender): Message['lines'][number]['links'] {
  if (alarm === null || publicUrl === null) return []
  return [
    { text: 'Open in console', url: publicUrl + alarmPage(alarm) },
    { text: 'Runbook', url: publicUrl + runbookPage(alarm.kind) },
  ]
}

const severityOfNotice = ({ alarm }: Notice): Severity => (alarm ? severityOf(alarm.kind) : 'info')

const worst = (notices: readonly Notice[]): Severity =>
  SEVERITIES[Math.max(...notices.map((notice) => SEVERITIES.indexOf(severityOfNotice(notice))))] ?? 'info'

/** An email: subject and plain text. */
export function alarmMail(notices: readonly Notice[], sender: Sender): { subject: string; text: string } {
  const { title, lines } = messageOf(notices, sender)
  const texts = lines.map(({ text, links }) =>
    [text, ...links.map((link) => `${link.text}: ${link.url}`)].join('\n'),
  )
  return { subject: `Shuntyard: ${title}`, text: `${texts.join('\n\n')}\n\n-- \n${sender.source}\n` }
}

const COLORS: Record<Severity, string> = {
  critical: ':red_circle:',
  warning: ':large_orange_circle:',
  info: ':information_source:',
}

/** `&`, `<` and `>` are the control characters of mrkdwn; the rest of a text needs no escape. */
const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

/** Maximum length of a section block's text. */
const SECTION_MAX = 3_000

/**
 * The body for an incoming webhook of Slack or a compatible service: `text` contains everything, for services without
 * blocks. https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks,
 * https://docs.slack.dev/reference/block-kit/blocks
 */
export function slackMessage(notices: readonly Notice[], sender: Sender) {
  const { severity, title, lines } = messageOf(notices, sender)
  const isOver = notices.every(({ event }) => event === 'resolved')
  const mark = isOver ? ':white_check_mark:' : COLORS[severity]
  const sections = lines.map(({ text, links }) =>
    [escaped(text), ...links.map(({ text: name, url }) => `<${escaped(url)}|${name}>`)].join(' · '),
  )
  const head = notices.length > 1 ? [`*${escaped(title)}*`] : []
  const all = [...head, ...sections]
  return {
    text: `${mark} ${all.join('\n')}`,
    blocks: [
      ...all.map((text, index) => ({
        type: 'section' as const,
        text: {
          type: 'mrkdwn' as const,
          text: `${index === 0 ? `${mark} ` : ''}${text}`.slice(0, SECTION_MAX),
        },
      })),
      { type: 'context' as const, elements: [{ type: 'mrkdwn' as const, text: escaped(sender.source) }] },
    ],
  }
}

const DEDUP_KEY_MAX = 255
const SUMMARY_MAX = 1_024

/**
 * An event for PagerDuty's Events API v2. Alarms of a kind and subject are one incident; a message about several alarms
 * is a separate incident, which people resolve. https://developer.pagerduty.com/docs/events-api-v2-overview,
 * https://developer.pagerduty.com/docs/send-alert-event
 */
export function pagerDutyEvent(routingKey: string, notices: readonly Notice[], sender: Sender) {
  const [notice] = notices as [Notice]
  const name =
    notices.length > 1 ? 'several' : notice.alarm ? `${notice.alarm.kind}/${notice.alarm.subject}` : 'test'
  const about = {
    routing_key: routingKey,
    dedup_key: `${sender.source}/${name}`.slice(0, DEDUP_KEY_MAX),
  }
  if (notices.length === 1 && (notice.event === 'acknowledged' || notice.event === 'resolved'))
    return {
      ...about,
      event_action: notice.event === 'resolved' ? ('resolve' as const) : ('acknowledge' as const),
    }
  const { severity, title, lines } = messageOf(notices, sender)
  const summary = notices.length > 1 ? title : sentenceOf(notice)
  return {
    ...about,
    event_action: 'trigger' as const,
    payload: {
      summary: summary.slice(0, SUMMARY_MAX),
      source: sender.source,
      severity,
      component: notice.alarm?.subject ?? 'shuntyard',
      class: notices.length > 1 ? 'several' : (notice.alarm?.kind ?? 'test'),
      custom_details:
        notices.length > 1 ? { alarms: lines.map(({ text }) => text) } : (notice.alarm?.fields ?? {}),
    },
    client: 'Shuntyard',
    ...(sender.publicUrl !== null && { client_url: `${sender.publicUrl}/admin/alarms` }),
    links:
      notices.length > 1
        ? []
        : lines.flatMap(({ links }) => links.map(({ text, url }) => ({ href: url, text }))),
  }
}
