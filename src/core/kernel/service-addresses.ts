import { hasControlCharacters } from './email-address.ts'
import { parseRedisUrl } from './redis-address.ts'

export interface ServiceAddresses {
  databaseUrl: string
  redisUrl: string
  /** A replica of the database, for reports; empty: none. */
  databaseReportsUrl: string
  /** A ClickHouse database for analytics; empty: none. */
  clickHouseUrl: string
}

/**
 * Reads DATABASE_URL, DATABASE_REPORTS_URL, CLICKHOUSE_URL and REDIS_URL. Adds invalid values to `problems` without repeating the URLs, which
 * contain passwords.
 */
export function readServiceAddresses(
  environment: Record<string, string | undefined>,
  problems: string[],
): ServiceAddresses {
  const { DATABASE_URL: databaseUrl = '', REDIS_URL: redisUrl = '' } = environment
  const { DATABASE_REPORTS_URL: databaseReportsUrl = '' } = environment
  problems.push(...databaseProblems('DATABASE_URL', databaseUrl), ...redisProblems(redisUrl))
  if (databaseReportsUrl !== '')
    problems.push(...databaseProblems('DATABASE_REPORTS_URL', databaseReportsUrl))
  const { CLICKHOUSE_URL: clickHouseUrl = '' } = environment
  if (clickHouseUrl !== '' && !isUrlOf(clickHouseUrl, ['http:', 'https:']))
    problems.push('CLICKHOUSE_URL must be an address such as http://user:password@host:8123/database')
  return { databaseUrl, redisUrl, databaseReportsUrl, clickHouseUrl }
}

function databaseProblems(name: string, text: string): string[] {
  if (text === '') return [`${name} is required`]
  const url = URL.canParse(text) ? new URL(text) : null
  if (url === null || (url.protocol !== 'postgresql:' && url.protocol !== 'postgres:'))
    return [`${name} must be an address such as postgresql://user:password@host:5432/database`]
  if (url.searchParams.get('pgbouncer') === 'true') {
    return [
      `${name} asks for pgbouncer=true, a pooler that breaks named statements: use one in session mode or ` +
        'PgBouncer 1.21 or newer with max_prepared_statements, and leave the parameter out',
    ]
  }
  return []
}

function redisProblems(text: string): string[] {
  if (text === '') return ['REDIS_URL is required']
  try {
    parseRedisUrl(text)
    return []
  } catch (error) {
    return [(error as Error).message]
  }
}

/** `smtp`: `smtp://user:password@host:port`, or `smtps://` for TLS from the first byte. `folder`: nothing is sent. */
export type MailTransport = { kind: 'smtp'; url: string } | { kind: 'folder'; path: string }

export interface MailSettings {
  transport: MailTransport
  from: string
  /** Base URL of links, without a trailing slash. */
  publicUrl: string
}

/**
 * Reads SMTP_URL, MAIL_FROM and PUBLIC_URL, or MAIL_FOLDER; null without either. Adds invalid values to `problems`.
 */
export function readMailSettings(
  environment: Record<string, string | undefined>,
  problems: string[],
): MailSettings | null {
  const { SMTP_URL: url = '', MAIL_FROM: from = '', PUBLIC_URL = '', MAIL_FOLDER: folder = '' } = environment
  const publicUrl = PUBLIC_URL.replace(/\/+$/, '')
  if (url === '') {
    if (from !== '' && folder === '') problems.push('MAIL_FROM goes with SMTP_URL')
    return folder === ''
      ? null
      : {
          transport: { kind: 'folder', path: folder },
          from: from || LOCAL_SENDER,
          publicUrl: publicUrl || localUrl(environment),
        }
  }
  if (folder !== '') problems.push('MAIL_FOLDER goes without SMTP_URL: it is used instead of a mail server')
  // The URL itself is not repeated: it contains a password.
  if (!isUrlOf(url, ['smtp:', 'smtps:'])) problems.push('SMTP_URL must be an smtp or smtps address')
  if (!/\S@\S/.test(from) || hasControlCharacters(from))
    problems.push('SMTP_URL needs MAIL_FROM, such as Shuntyard <noreply@example.com>')
  if (!isUrlOf(publicUrl, ['http:', 'https:']))
    problems.push('SMTP_URL needs PUBLIC_URL, an http or https address: links in messages lead there')
  return { transport: { kind: 'smtp', url }, from, publicUrl }
}

const LOCAL_SENDER = 'Shuntyard <noreply@localhost>'

/** The URL of a gateway that is used on its own machine. */
export function localUrl({
  HOST: host = '',
  PORT: port = '8080',
}: Record<string, string | undefined>): string {
  const isAny = host === '' || host === '0.0.0.0' || host === '::'
  const name = isAny ? '127.0.0.1' : host
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`
}

const isUrlOf = (text: string, protocols: readonly string[]): boolean =>
  URL.canParse(text) && protocols.includes(new URL(text).protocol) && new URL(text).hostname !== ''
