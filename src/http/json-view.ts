import type { Static, TObject } from 'typebox'
import { formatUsd, picoUsd } from '../core/kernel/money.ts'
import { isoTime } from '../core/kernel/time.ts'

type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? First extends Lowercase<First>
    ? `${First}${SnakeCase<Rest>}`
    : `_${Lowercase<First>}${SnakeCase<Rest>}`
  : Name

type JsonName<Name extends string> = Name extends `${infer Amount}Pico`
  ? `${SnakeCase<Amount>}_usd`
  : SnakeCase<Name>

type JsonValue<Name extends string, Value> = Value extends Date
  ? string
  : Value extends bigint
    ? Name extends `${string}Pico`
      ? string
      : never
    : Value

type Json<Row> = { [Name in keyof Row & string as JsonName<Name>]: JsonValue<Name, Row[Name]> }

/**
 * Converts the fields of a row that a schema has to the API's names and formats: `balancePico: 1500000000000n` becomes
 * `balance_usd: "1.50"`, `createdAt: Date` becomes `created_at` in ISO 8601. In the schema's order.
 */
export function jsonView<Schema extends TObject, Row extends object>(
  schema: Schema,
  row: Row,
): Pick<Json<Row>, keyof Json<Row> & keyof Static<Schema>> {
  const written = new Map(Object.entries(row).map(([name, value]) => [jsonName(name), jsonValue(value)]))
  const names = Object.keys(schema.properties).filter((name) => written.has(name))
  return Object.fromEntries(names.map((name) => [name, written.get(name)])) as ReturnType<
    typeof jsonView<Schema, Row>
  >
}

const jsonName = (name: string): string =>
  name.replace(/Pico$/, 'Usd').replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

const jsonValue = (value: unknown): unknown =>
  typeof value === 'bigint' ? formatUsd(picoUsd(value)) : value instanceof Date ? isoTime(value) : value
