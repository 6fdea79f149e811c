import type { Static, TObject } from 'typebox'
import { formatRate, formatUsd, picoUsdPerToken } from '../kernel/money.ts'
import { isoTime } from '../kernel/time.ts'

type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? First extends Lowercase<First>
    ? `${First}${SnakeCase<Rest>}`
    : `_${Lowercase<First>}${SnakeCase<Rest>}`
  : Name

type JsonName<Name extends string> = Name extends `${infer Amount}Pico`
  ? `${SnakeCase<Amount>}_usd`
  : SnakeCase<Name>

type JsonValue<Value> = Value extends Date | bigint ? string : Value

type Json<Row> = { [Name in keyof Row & string as JsonName<Name>]: JsonValue<Row[Name]> }

/**
 * Converts the fields of a row that a schema has to the API's names and formats, in the schema's order:
 * `balancePico: 1500000000000n` becomes `balance_usd: "1.50"`, and `createdAt: Date` becomes `created_at` in ISO 8601.
 * Any other bigint is a rate per token.
 */
export function jsonView<Schema extends TObject, Row extends object>(
  schema: Schema,
  row: Row,
): Pick<Json<Row>, keyof Json<Row> & keyof Static<Schema>> {
  const names = new Map(Object.keys(row).map((name) => [jsonName(name), name as keyof Row & string]))
  const fields = Object.keys(schema.properties).flatMap((field) => {
    const name = names.get(field)
    return name === undefined ? [] : [[field, jsonValue(name, row[name])]]
  })
  return Object.fromEntries(fields) as ReturnType<typeof jsonView<Schema, Row>>
}

const jsonName = (name: string): string =>
  name.replace(/Pico$/, 'Usd').replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

function jsonValue(name: string, value: unknown): unknown {
  if (typeof value === 'bigint')
    return name.endsWith('Pico') ? formatUsd(value) : formatRate(picoUsdPerToken(value))
  return value instanceof Date ? isoTime(value) : value
}
