import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createMailer } from '../../../src/platform/network/mailer.ts'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'shuntyard-mail-'))
})
afterEach(() => rm(folder, { recursive: true }))

const mailer = () =>
  createMailer({
    transport: { kind: 'folder', path: join(folder, 'mail') },
    from: 'Shuntyard <a@b.test>',
    publicUrl: 'https://gateway.example',
  })

test('a gateway without a mail server writes each message to a file that only its owner reads', async () => {
  const link = `http://127.0.0.1:8080/verify#${'A'.repeat(43)}`
  await mailer().send({ to: 'ann@example.test', subject: 'Verify your address', text: `Open:\n\n${link}\n` })
  const [name = '', ...others] = await readdir(join(folder, 'mail'))
  expect(others).toEqual([])
  expect(name).toMatch(/^\d{4}-\d\d-\d\dT[\d-]+Z_Verify-your-address-to-ann@example\.test_[0-9a-f]{4}\.eml$/)
  const file = join(folder, 'mail', name)
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  const content = await readFile(file, 'utf8')
  expect(content).toMatch(/^From: Shuntyard <a@b\.test>\r$/m)
  expect(content).toMatch(/^To: ann@example\.test\r$/m)
  expect(content).toMatch(/^Subject: Verify your address\r$/m)
  // To be copied from a terminal: in one piece.
  expect(content).toContain(link)
})

test('links stay whole in both parts, whatever their length and whatever else the message says', async () => {
  const link = `https://gateway.example/${'path/'.repeat(20)}invitation#${'A'.repeat(43)}`
  const text = `Hello,\n\n"Zoë & <Söhne>" invited you.\n\nJoin it:\n${link}\n\nAmount:  $5.00\nTime:    now\n`
  await mailer().send({ to: 'ann@example.test', subject: 'An invitation', text: text.replace(/[öë]/g, 'o') })
  await mailer().send({ to: 'bob@example.test', subject: 'An invitation', text })
  const names = await readdir(join(folder, 'mail'))
  const [plain = '', accents = ''] = await Promise.all(
    ['ann', 'bob'].map((to) =>
      readFile(join(folder, 'mail', names.find((name) => name.includes(to))!), 'utf8'),
    ),
  )
  expect(plain).toMatch(/^Content-Type: multipart\/alternative;/m)
  expect(plain.match(/^Content-Transfer-Encoding: .*$/gm)).toEqual(
    Array(2).fill('Content-Transfer-Encoding: 7bit'),
  )
  expect(plain).toContain(`\r\n${link}\r\n`)
  for (const message of [plain, accents]) expect(message).toContain(`href="${link.replaceAll('&', '&#38;')}"`)
  expect(accents).toContain('<p>&#34;Zo&#235; &#38; &#60;S&#246;hne&#62;&#34; invited you.</p>')
  expect(accents).toMatch(/<a style="[^"]+" href="[^"]+">Join it<\/a>/)
  expect(accents).toContain('<p>Amount:  $5.00<br>\r\nTime:    now</p>')
})

test('an address that somebody chose, in a name, is no link', async () => {
  const text = `Bob invited you to "Pay: https://evil.example/login".

Join it:
https://evil.example/alone

Join it:
https://gateway.example/invitation
`
  await mailer().send({ to: 'ann@example.test', subject: 'An invitation', text })
  const [name = ''] = await readdir(join(folder, 'mail'))
  const content = await readFile(join(folder, 'mail', name), 'utf8')
  expect(content.match(/href="[^"]*"/g)).toEqual(Array(2).fill('href="https://gateway.example/invitation"'))
})

test('recipients do not name files elsewhere', async () => {
  await mailer().send({ to: '../../x/y@example.test', subject: 'S', text: 'T' })
  expect(await readdir(folder)).toEqual(['mail'])
  expect(await readdir(join(folder, 'mail'))).toHaveLength(1)
})
