import { isDeepStrictEqual } from 'node:util'
import { parseUsd } from '../../core/kernel/money.ts'
import type { AdminContext } from '../admin-command.ts'
import { UsageError } from '../run-command.ts'

export type PlanServices = Omit<AdminContext, 'input'>

/** A difference between a file and the gateway: what it is, and what ends it. It may return a secret to show once. */
export interface Change {
  text: string
  make: () => Promise<string | undefined>
}

export async function done(work: Promise<unknown>): Promise<undefined> {
  await work
}

/** The text, or where it is `env:NAME` the value of the variable. */
export function referenced(text: string, environment: NodeJS.ProcessEnv): string {
  if (!text.startsWith('env:')) return text
  const value = environment[text.slice(4)]
  if (!value) throw new UsageError(`${text.slice(4)} is not set in the environment`)
  return value
}

export const isEmpty = (edit: object) => Object.keys(edit).length === 0

/** The members of an entry that it has. */
export const definedOf = <Entry extends object, Name extends keyof Entry>(
  entry: Entry,
  names: readonly Name[],
) =>
  Object.fromEntries(
    names.filter((name) => entry[name] !== undefined).map((name) => [name, entry[name]]),
  ) as { [Given in Name]?: Exclude<Entry[Given], undefined> }

/** Of the members that are wanted those that are not so yet. */
export const differing = <Wanted extends object>(wanted: Wanted, present: object): Partial<Wanted> =>
  Object.fromEntries(
    Object.entries(wanted).filter(
      ([name, value]) => !isSame(value, (present as Record<string, unknown>)[name] ?? null),
    ),
  ) as Partial<Wanted>

/** Amounts and times are the same whatever their form is: `5` and `5.00`. */
const isSame = (one: unknown, other: unknown): boolean =>
  isDeepStrictEqual(one, other) ||
  (typeof one === 'string' && typeof other === 'string' && (sameUsd(one, other) || sameTime(one, other)))

const AMOUNT = /^\d+(\.\d+)?$/
export const sameUsd = (one: string | null, other: string | null): boolean =>
  one === other ||
  ([one, other].every((text) => text !== null && AMOUNT.test(text)) && parseUsd(one!) === parseUsd(other!))
const sameTime = (one: string, other: string): boolean =>
  new Date(one).getTime() === new Date(other).getTime()

const shown = (value: unknown) =>
  Array.isArray(value)
    ? `[${value.join(', ')}]`
    : typeof value === 'object' && value !== null
      ? JSON.stringify(value)
      : String(value ?? 'none')
export const describe = (edit: object, before: object): string =>
  Object.entries(edit)
    .map(([name, value]) => `${name} ${shown((before as Record<string, unknown>)[name])} → ${shown(value)}`)
    .join(', ')
