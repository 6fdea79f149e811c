import {
  hasControlCharacters,
  isEmailShaped,
  isPlainEmail,
  normalizeEmail,
} from '../../core/kernel/email-address.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { type PicoUsd, parseUsd, plainDecimal } from '../../core/kernel/money.ts'

/** The fields of a JSON body. */
export type Fields = Readonly<Record<string, unknown>>

/** Reads a body as an object with none but known fields. Throws ApiError `invalid_request`, as all readers here do. */
export function readFields(body: unknown, known: readonly string[]): Fields {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new ApiError('invalid_request', 'Send a JSON object as the body.')
  const unknown = Object.keys(body).find((name) => !known.includes(name))
  if (unknown !== undefined)
    throw invalid(unknown, `\`${unknown}\` is no field here. Known: ${known.join(', ')}.`)
  return body as Fields
}

/** Reads a line of so many characters, none of them a control character. */
export function readString(fields: Fields, name: string, min: number, max: number): string {
  const value = readText(fields, name, min, max)
  if (hasControlCharacters(value))
    throw invalid(name, `\`${name}\` takes one line of text without control characters.`)
  return value
}

function readText(fields: Fields, name: string, min: number, max: number): string {
  const value = fields[name]
  if (typeof value !== 'string' || value.length < min || value.length > max)
    throw invalid(name, `\`${name}\` takes a text of ${min} to ${max} characters.`)
  return value
}

/** Reads one of a few words, or its fallback. */
export function readWord<T extends string>(
  fields: Fields,
  name: string,
  words: readonly T[],
  fallback: T,
): T {
  const value = fields[name] ?? fallback
  const word = words.find((known) => known === value)
  if (word === undefined) throw invalid(name, `\`${name}\` must be one of ${words.join(', ')}.`)
  return word
}

/** Reads a whole number from 1 to `max`; null where it is null or absent. */
export function readWholeNumber(fields: Fields, name: string, max: number): number | null {
  const value = fields[name] ?? null
  if (value === null) return null
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 1 || value > max)
    throw invalid(name, `\`${name}\` must be a whole number from 1 to ${max}.`)
  return value
}

const USD_DECIMALS = 12
const AMOUNT_MAX = parseUsd('1000000.00')

/** Reads an amount of USD, up to a million; null where it is null or absent. */
export function readUsd(fields: Fields, name: string): PicoUsd | null {
  const value = fields[name] ?? null
  if (value === null) return null
  const text = plainDecimal(value, USD_DECIMALS)
  const amountPico = text === null ? null : parseUsd(text)
  if (amountPico === null || amountPico > AMOUNT_MAX)
    throw invalid(name, `\`${name}\` takes an amount of USD such as "5.00".`)
  return amountPico
}

/** Reads a moment to come; null where it is null or absent. */
export function readFuture(fields: Fields, name: string, nowMs: number): Date | null {
  const value = fields[name] ?? null
  if (value === null) return null
  const at = typeof value === 'string' && ISO_TIME.test(value) ? Date.parse(value) : Number.NaN
  if (Number.isNaN(at) || at <= nowMs)
    throw invalid(name, `\`${name}\` takes a time to come, such as 2027-01-31T12:00:00Z.`)
  return new Date(at)
}

const ISO_TIME = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/

/** Reads the email of an account, normalized. */
export const readEmail = (fields: Fields): string => readEmailThat(isEmailShaped, fields)

/** Reads the email of an account to be, normalized: without quotes, and with nothing in it that is not seen. */
export const readNewEmail = (fields: Fields): string => readEmailThat(isPlainEmail, fields)

function readEmailThat(isFit: (email: string) => boolean, { email }: Fields): string {
  const normalized = typeof email === 'string' ? normalizeEmail(email) : ''
  if (!isFit(normalized)) throw invalid('email', 'Send an email address such as you@example.com.')
  return normalized
}

export const PASSWORD_LENGTH_MIN = 10
const PASSWORD_LENGTH_MAX = 256

/** Reads a password as it was chosen once: nothing is said of its form. */
export const readPassword = (fields: Fields, name: string): string =>
  readText(fields, name, 1, PASSWORD_LENGTH_MAX)

/** Reads a password to be. It is long, and not the email. */
export function readNewPassword(fields: Fields, name: string, email: string): string {
  const password = fields[name]
  const isLong =
    typeof password === 'string' &&
    password.length >= PASSWORD_LENGTH_MIN &&
    password.length <= PASSWORD_LENGTH_MAX
  if (!isLong)
    throw invalid(
      name,
      `A password has ${PASSWORD_LENGTH_MIN} to ${PASSWORD_LENGTH_MAX} characters. A few words are good.`,
    )
  if (password.toLowerCase() === email || new Set(password).size < 4)
    throw invalid(name, 'This password is too easy to guess. Choose another one.')
  return password
}

const invalid = (param: string, message: string): ApiError =>
  new ApiError('invalid_request', message, { param })
