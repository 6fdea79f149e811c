import { type Static, type TSchema, type TUnsafe, Type } from 'typebox'
import { type PicoUsd, parseUsd, plainDecimal } from '../kernel/money.ts'

/** The schema of a value that may also be null, with the same error text. */
export function nullable<S extends TSchema & { type?: string; enum?: unknown[] }>(
  schema: S,
): TUnsafe<Static<S> | null> {
  const { type, enum: words } = schema
  return Type.Unsafe<Static<S> | null>({
    ...schema,
    ...(type && { type: [type, 'null'] }),
    ...(words && { enum: [...words, null] }),
  })
}

/** The schema of a field that may be null or absent. */
export const optional = <S extends TSchema & { type?: string; enum?: unknown[] }>(schema: S) =>
  Type.Optional(nullable(schema))

/** Rejects unknown fields, because a mistyped field would otherwise be ignored. */
export const CLOSED = { additionalProperties: false } as const

/** One line of text. */
export const line = (name: string, minLength: number, maxLength: number) =>
  Type.String({
    minLength,
    maxLength,
    format: 'line',
    errorMessage: { format: `\`${name}\` takes one line of text without control characters.` },
  })

/** A posted amount of USD, up to a million and not zero. */
export const amount = (sign: 'positive' | 'signed', name = 'amount_usd') =>
  Type.String({
    format: `${sign}-amount`,
    errorMessage: `\`${name}\` takes a decimal string such as "5.00"${sign === 'signed' ? ' or "-5.00"' : ''}, not zero.`,
  })

/** An amount of USD from zero to a million, as a decimal string or number; null for none. */
export const usd = (name: string) =>
  Type.Unsafe<string | number | null>({
    type: ['string', 'number', 'null'],
    format: 'usd',
    minimum: 0,
    maximum: 1_000_000,
    errorMessage: `\`${name}\` takes an amount of USD such as "5.00".`,
  })

/** A whole number from 1; null for none. */
export const count = (maximum = 1_000_000) => optional(Type.Integer({ minimum: 1, maximum }))

/** Rate limits of an account, set by an operator. Absent: unchanged; null: the default. */
export const RATE_LIMIT_FIELDS = { requests_per_minute: count(), concurrent_calls: count() }

const USD_DECIMALS = 12

/** Parses an amount that matches the schema of `usd()`; null if it is null or absent. */
export function readUsd(amount: string | number | null | undefined): PicoUsd | null {
  const text = plainDecimal(amount ?? null, USD_DECIMALS)
  return text === null ? null : parseUsd(text)
}
