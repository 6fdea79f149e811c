import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { SMTPServer } from 'smtp-server'
import { expect, vi } from 'vitest'

export interface CaughtMail {
  to: string[]
  /** Headers and body as they came, soft line breaks of quoted-printable taken out. */
  content: string
}

export interface MailCatcher {
  /** Has a gateway send its mail here. */
  environment: { SMTP_URL: string; MAIL_FROM: string }
  received: CaughtMail[]
  /** Answers each recipient: null takes it, a code such as 451 or 550 refuses it. */
  answer: (recipient: string) => number | null
  /** Resolves with the tokens of the links sent to an address, once there are so many. `page`: that they lead to. */
  tokens(recipient: string, wanted?: number, page?: string): Promise<string[]>
  close(): Promise<void>
}

const USER = 'mailer'
const PASSWORD = 'a password for mail'
const WAIT_MS = 60_000

/** A mail server, as far as sending to it goes: asks for a password, keeps what it gets. */
export async function startMailCatcher(): Promise<MailCatcher> {
  const received: CaughtMail[] = []
  let answer: MailCatcher['answer'] = () => null
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    onAuth({ username, password }, _, done) {
      if (username === USER && password === PASSWORD) return done(null, { user: username })
      done(new Error('wrong name or password'))
    },
    onRcptTo({ address }, _, done) {
      const code = answer(address)
      done(code === null ? null : Object.assign(new Error('refused'), { responseCode: code }))
    },
    onData(stream, session, done) {
      void text(stream).then((content) => {
        const to = session.envelope.rcptTo.map(({ address }) => address)
        received.push({ to, content: content.replace(/=\r?\n/g, '') })
        done()
      }, done)
    },
  })
  server.on('error', () => undefined)
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  const { port } = server.server.address() as AddressInfo
  return {
    environment: {
      SMTP_URL: `smtp://${USER}:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}`,
      MAIL_FROM: 'Shuntyard <noreply@gateway.example>',
    },
    received,
    get answer() {
      return answer
    },
    set answer(next) {
      answer = next
    },
    tokens(recipient, wanted = 1, page = 'verify') {
      const link = new RegExp(`/${page}#([\\w-]{43})\\s`)
      return vi.waitFor(
        () => {
          const links = received
            .filter(({ to }) => to.includes(recipient))
            .flatMap(({ content }) => link.exec(content)?.[1] ?? [])
          expect(links.length).toBeGreaterThanOrEqual(wanted)
          return links
        },
        { timeout: WAIT_MS },
      )
    },
    close: () => new Promise((done) => server.close(() => done())),
  }
}
