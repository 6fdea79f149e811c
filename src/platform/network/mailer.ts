import { randomBytes } from 'node:crypto'
import { mkdir, readdir, rename, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import type { MailSettings } from '../../core/kernel/service-addresses.ts'

export interface MailMessage {
  to: string
  subject: string
  /** Plain text; the HTML part is made of it. */
  text: string
}

/** Sends mail over SMTP, one connection for each message, or writes it to a folder. */
export interface Mailer {
  /**
   * `sent`: the server accepted the message. `refused`: it rejects this recipient permanently (5xx in response to
   * RCPT). Throws on a temporary failure and on one of our configuration.
   */
  send(message: MailMessage): Promise<'sent' | 'refused'>
}

const CONNECT_TIMEOUT_MS = 10_000
/** Inactivity timeout of an open connection. */
const IDLE_TIMEOUT_MS = 30_000
const CLOSED = { disableFileAccess: true, disableUrlAccess: true }

export function createMailer(settings: Pick<MailSettings, 'transport' | 'from' | 'publicUrl'>): Mailer {
  const { transport } = settings
  return transport.kind === 'smtp'
    ? smtpMailer(transport.url, settings)
    : folderMailer(transport.path, settings)
}

type Sender = Pick<MailSettings, 'from' | 'publicUrl'>

const smtpTransport = (url: string) =>
  createTransport({
    url,
    connectionTimeout: CONNECT_TIMEOUT_MS,
    greetingTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: IDLE_TIMEOUT_MS,
    dnsTimeout: CONNECT_TIMEOUT_MS,
    ...CLOSED,
  })

/** Connects to a mail server and signs in, without a message. Throws if either fails. */
export const verifyMailServer = async (url: string): Promise<void> => void (await smtpTransport(url).verify())

function smtpMailer(url: string, sender: Sender): Mailer {
  const transport = smtpTransport(url)
  return {
    async send(message) {
      try {
        await transport.sendMail(envelope(message, sender))
        return 'sent'
      } catch (error) {
        if (isRefusedRecipient(error)) return 'refused'
        throw error
      }
    },
  }
}

function folderMailer(path: string, sender: Sender): Mailer {
  const transport = createTransport({ streamTransport: true, buffer: true, ...CLOSED })
  const folder = createMailFolder(path)
  return {
    async send(message) {
      const { message: bytes } = await transport.sendMail(envelope(message, sender))
      await folder.write(message, bytes as Buffer)
      return 'sent'
    },
  }
}

const envelope = ({ to, subject, text }: MailMessage, { from, publicUrl }: Sender) => ({
  from,
  // An object is one address; a string would be parsed as a list.
  to: { name: '', address: to },
  subject,
  text: part('plain', text),
  html: part('html', mailHtml(subject, text, publicUrl)),
  // RFC 3834: prevents vacation responders from replying.
  headers: { 'Auto-Submitted': 'auto-generated' },
})

/** RFC 5322, without the line break. */
const LINE_LENGTH_MAX = 998

/**
 * A part of a message, unencoded where RFC 5322 allows it. nodemailer would encode lines of 77 characters and more as
 * quoted-printable, which breaks links for readers of the raw message.
 */
function part(type: 'plain' | 'html', content: string): { content: string } | { raw: string } {
  const lines = content.split(/\r?\n/)
  const isPlain = lines.every((line) => line.length <= LINE_LENGTH_MAX && /^[\t\x20-\x7e]*$/.test(line))
  if (!isPlain) return { content }
  const head = [`Content-Type: text/${type}; charset=utf-8`, 'Content-Transfer-Encoding: 7bit', '']
  return { raw: [...head, ...lines].join('\r\n') }
}

const isRefusedRecipient = (error: unknown): boolean =>
  error instanceof Error &&
  'command' in error &&
  error.command === 'RCPT TO' &&
  'responseCode' in error &&
  Number(error.responseCode) >= 500

/** Maximum number of files; the oldest are deleted. */
const FILES_MAX = 500
const NAME_LENGTH_MAX = 120

/**
 * Writes messages to a folder instead of sending them, one `.eml` file each, for a gateway on trial. A file name
 * contains time, subject and recipient. Only the owner may read the files, since the links in them work.
 */
function createMailFolder(path: string) {
  return {
    async write({ subject, to }: { subject: string; to: string }, bytes: Uint8Array): Promise<void> {
      await mkdir(path, { recursive: true, mode: 0o700 })
      const time = new Date().toISOString().replace(/[:.]/g, '-')
      const words = `${subject} to ${to}`.replace(/[^\w@+.-]+/g, '-').slice(0, NAME_LENGTH_MAX)
      const file = join(path, `${time} ${words} ${randomBytes(2).toString('hex')}.eml`.replaceAll(' ', '_'))
      await writeFile(`${file}.new`, bytes, { mode: 0o600, flag: 'wx' })
      await rename(`${file}.new`, file)
      const files = (await readdir(path)).filter((name) => name.endsWith('.eml')).sort()
      await Promise.all(files.slice(0, -FILES_MAX).map((name) => unlink(join(path, name))))
    },
  }
}

/**
 * The HTML part of a message, made of its plain text: paragraphs, addresses of the gateway as links, and a paragraph of a
 * label and one address as a button, with the address below it for clients that show none. The result is ASCII. Other
 * addresses may be in names that somebody chose, and stay text.
 * @param site the public URL of the gateway
 */
function mailHtml(subject: string, text: string, site: string): string {
  const isOurs = (address: string) => URL.parse(address)?.origin === URL.parse(site)?.origin
  const paragraphs = text.trim().split(/\n{2,}/)
  return [
    '<!doctype html>',
    `<html lang="en"><head><meta charset="utf-8"><title>${escaped(subject)}</title></head>`,
    `<body style="${BODY}">`,
    `<h1 style="font-size:20px;line-height:1.3">${escaped(subject)}</h1>`,
    ...paragraphs.map((paragraph) => {
      const [, label = '', address = ''] = LABELLED_ADDRESS.exec(paragraph) ?? []
      return isOurs(address) ? button(label, address) : lines(paragraph, isOurs)
    }),
    '</body></html>',
    '',
  ].join('\n')
}

const BODY =
  'max-width:560px;margin:0 auto;padding:24px;font:15px/1.5 system-ui,sans-serif;color:#1a1c20;background:#fff'
const BUTTON =
  'display:inline-block;padding:10px 20px;border-radius:8px;background:#1b1d22;color:#fff;text-decoration:none'
const LABELLED_ADDRESS = /^([^\n:]{1,40}):\n(https?:\/\/\S+)$/
const ADDRESS = /https?:\/\/[^\s<>"]*[^\s<>".,;:!?)]/g
/** What ends with a colon and spaces names a value in the plain text; columns mean nothing in HTML. */
const NAMED_VALUE = /^\S[^:]{0,40}: {2,}/

const button = (label: string, address: string): string =>
  `<p><a style="${BUTTON}" href="${escaped(address)}">${escaped(label)}</a></p>\n` +
  `<p style="font-size:13px;word-break:break-all">${link(address)}</p>`

/** Lines with named values keep their ends; others flow. */
function lines(paragraph: string, isOurs: (address: string) => boolean): string {
  const all = paragraph.split('\n')
  const end = all.some((line) => NAMED_VALUE.test(line)) ? '<br>\n' : '\n'
  return `<p>${all.map((line) => linked(line, isOurs)).join(end)}</p>`
}

function linked(line: string, isOurs: (address: string) => boolean): string {
  let shown = ''
  let after = 0
  for (const { 0: address, index } of line.matchAll(ADDRESS)) {
    shown += escaped(line.slice(after, index)) + (isOurs(address) ? link(address) : escaped(address))
    after = index + address.length
  }
  return shown + escaped(line.slice(after))
}

const link = (address: string): string => `<a href="${escaped(address)}">${escaped(address)}</a>`

const escaped = (text: string): string =>
  text.replace(/[&<>"']|[^\n\x20-\x7e]/gu, (character) => `&#${character.codePointAt(0)};`)
