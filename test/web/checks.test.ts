import { describe, expect, test } from 'vitest'
import { emailProblem, endOfDay, newPasswordProblem, wholeNumberProblem } from '../../web/lib/checks.ts'

describe('checks of a form before it is sent', () => {
  test('takes an e-mail address and says what is wrong with another text', () => {
    expect(emailProblem(' ann@example.com ')).toBeNull()
    expect(emailProblem('ann@example')).toContain('valid email address')
    expect(emailProblem('')).toContain('Enter')
  })

  test('counts the characters of a password as people do, not code units', () => {
    expect(newPasswordProblem('🚂'.repeat(9))).toContain('this has 9')
    expect(newPasswordProblem('🚂'.repeat(10))).toBeNull()
    expect(newPasswordProblem('a'.repeat(257))).toContain('at most 256')
  })

  test('takes a whole number above zero, or nothing', () => {
    expect(wholeNumberProblem('')).toBeNull()
    expect(wholeNumberProblem('60')).toBeNull()
    expect(wholeNumberProblem('600', 600)).toBeNull()
    expect(wholeNumberProblem('601', 600)).toContain('at most 600')
    for (const text of ['0', '-1', '1.5', '1e3', 'ten']) expect(wholeNumberProblem(text)).not.toBeNull()
  })

  test('lets a key work until the end of its last day, where the reader is', () => {
    expect(endOfDay('2027-01-31', 'America/Los_Angeles')).toBe('2027-02-01T07:59:59.999Z')
    // A day of 23 hours.
    expect(endOfDay('2027-03-28', 'Europe/Berlin')).toBe('2027-03-28T21:59:59.999Z')
  })
})
