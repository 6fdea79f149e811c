import { formatCount } from './format.ts'
import { momentIn } from './time-zone.ts'

const PASSWORD_MIN = 10
const PASSWORD_MAX = 256

/** What is wrong with an email address at first sight; null when nothing is. The gateway has the last word. */
export function emailProblem(email: string): string | null {
  if (email.trim() === '') return 'Enter your email address.'
  return /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(email.trim())
    ? null
    : 'Enter a valid email address, for example ann@example.com.'
}

/** What is wrong with a new password; null when nothing is. */
export function newPasswordProblem(password: string): string | null {
  const { length } = [...password]
  if (length < PASSWORD_MIN) return `Use at least ${PASSWORD_MIN} characters; this has ${length}.`
  return length > PASSWORD_MAX ? `Use at most ${PASSWORD_MAX} characters.` : null
}

/** What is wrong with a whole number above zero, up to `max`, that may be left out; null when nothing is. */
export function wholeNumberProblem(text: string, max = 999_999_999): string | null {
  if (text === '') return null
  if (!/^[1-9]\d{0,8}$/.test(text))
    return 'Enter a whole number of 1 or more, or leave empty for the default.'
  return Number(text) > max ? `Enter at most ${formatCount(max)}, the default.` : null
}

/** The last moment of a day in a time zone, as the gateway takes it. */
export const endOfDay = (day: string, zone: string): string =>
  new Date(Date.parse(momentIn(zone, `${day}T23:59`) ?? '') + 59_999).toISOString()

const AMOUNT = /^\d{1,7}(\.\d{1,12})?$/

const isZero = (text: string): boolean => !/[1-9]/.test(text)

/** What is wrong with an amount to give an account; null when nothing is. */
export const creditProblem = (text: string): string | null =>
  AMOUNT.test(text.trim()) && !isZero(text) ? null : 'Enter an amount above zero, such as 5.00.'

/** What is wrong with a change of a balance, up or down; null when nothing is. */
export const changeProblem = (text: string): string | null =>
  AMOUNT.test(text.trim().replace(/^-/, '')) && !isZero(text)
    ? null
    : 'Enter an amount such as 5.00 or -5.00.'

/** Whether a text is an amount above zero with at most two decimals. */
export const isWholeCents = (text: string): boolean => /^\d{1,9}(\.\d{1,2})?$/.test(text) && Number(text) > 0

/** What is wrong with a limit of spending that may be left out; null when nothing is. */
export const spendingLimitProblem = (text: string): string | null =>
  text === '' || (/^\d{1,6}(\.\d{1,6})?$/.test(text) && !isZero(text))
    ? null
    : 'Enter an amount from 0.000001, such as 5.00, or leave empty for no limit.'
