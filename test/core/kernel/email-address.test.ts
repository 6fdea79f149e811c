import { describe, expect, test } from 'vitest'
import {
  isEmailShaped,
  isPlainEmail,
  mailboxOf,
  normalizeEmail,
  onlyItsCaseChanges,
} from '../../../src/core/kernel/email-address.ts'

describe('emails', () => {
  test.each([
    [' Ann@Example.TEST ', 'ann@example.test'],
    ['ａｎｎ@example.test', 'ann@example.test'],
    ['ann＠example．test', 'ann@example.test'],
    ['ﬁnn@example.test', 'finn@example.test'],
  ])('that differ in case or compatible characters are one: %j', (written, email) => {
    expect(normalizeEmail(written)).toBe(email)
  })

  test.each([
    'ann@example.test',
    'a.nn+tag@sub.example.test',
    "o'neil_x-1@localhost",
    'jürgen@bücher.example',
    'a@xn--bcher-kva.example',
  ])('of new accounts may be %j', (email) => expect(isPlainEmail(email)).toBe(true))

  test.each([
    'nobody',
    'a@b@c',
    'a b@example.test',
    'a\u0000@example.test',
    'a\u200b@example.test',
    'a\u00ad@example.test',
    'a\ufe0f@example.test',
    'a\u115f@example.test',
    '"a"@example.test',
    'a<b@example.test',
    'a,b@example.test',
    'a:b@example.test',
    '.a@example.test',
    'a..b@example.test',
    'a@example.test.',
    'a@[127.0.0.1]',
    `${'a'.repeat(250)}@b.test`,
  ])('of new accounts may not be %j', (email) => expect(isPlainEmail(email)).toBe(false))

  test('with control characters are none', () => {
    expect(isEmailShaped('a\u0000b@example.test')).toBe(false)
  })
})

test.each([
  ['Ann@Example.test', true],
  ['bücher@example.test', true],
  ['ＡNN@example.test', false],
  ['\u212aarl@example.test', false],
  ['ann＠example.test', false],
  ['o\ufb03ce@example.test', false],
])('normalizing %j changes nothing but its case: %j', (email, only) =>
  expect(onlyItsCaseChanges(email)).toBe(only),
)

describe('one mailbox', () => {
  test.each([
    ['ann+1@example.test', 'ann@example.test'],
    ['ann+1+2@example.test', 'ann@example.test'],
    ['a.n.n+shop@gmail.com', 'ann@gmail.com'],
    ['ann@googlemail.com', 'ann@gmail.com'],
    ['a.nn@protonmail.com', 'ann@proton.me'],
    ['ann@bücher.example', 'ann@xn--bcher-kva.example'],
  ])('is behind %j and %j', (email, other) => expect(mailboxOf(email)).toBe(mailboxOf(other)))

  test.each([
    ['a.nn@example.test', 'ann@example.test'],
    ['ann@example.test', 'ann@example.org'],
    ['+1@example.test', '+2@example.test'],
  ])('is not behind %j and %j', (email, other) => expect(mailboxOf(email)).not.toBe(mailboxOf(other)))
})
