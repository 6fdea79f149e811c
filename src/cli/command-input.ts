import { userInfo } from 'node:os'
import { LIMIT_RESETS, type LimitReset } from '../core/billing/allowance-period.ts'
import { newId } from '../core/kernel/ids.ts'
import { type PicoUsd, parseUsd } from '../core/kernel/money.ts'
import type { Operator } from '../operators/audit-log.ts'
import { UsageError } from './run-command.ts'

/** The operator of a command: the user of the operating system, by name or number. */
export function commandOperator(): Operator {
  return { actor: `cli:${userName()}`, requestId: newId('cmd') }
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    // In a container the user id may have no name.
    return String(process.getuid?.() ?? 'unknown')
  }
}

/** The options and arguments after a command's name. All readers throw UsageError. */
export class CommandInput<Option extends string = string> {
  readonly #options: Readonly<Partial<Record<Option, string | boolean>>>
  /** The arguments after the command's name. */
  readonly arguments: readonly string[]

  constructor(options: Readonly<Partial<Record<Option, string | boolean>>>, args: readonly string[]) {
    this.#options = options
    this.arguments = args
  }

  option(name: Option): string | undefined {
    const value = this.#options[name]
    return typeof value === 'string' ? value : undefined
  }

  flag(name: Option): boolean {
    return this.#options[name] === true
  }

  subject(hint: string): string {
    return present(this.arguments[0], hint)
  }

  /** The id or email of an account, by option or as the first argument. */
  get account(): string | undefined {
    return this.option('account' as Option) ?? this.arguments[0] ?? this.option('email' as Option)
  }

  required(name: Option, hint: string): string {
    return present(this.option(name), `--${name} ${hint}`)
  }

  /** A whole number of 1 or more, or null if absent. */
  count(name: Option): number | null {
    const text = this.option(name)
    if (text === undefined) return null
    const count = Number(text)
    if (!Number.isInteger(count) || count < 1 || count > 2 ** 31 - 1)
      throw new UsageError(`--${name} must be a whole number of 1 or more`)
    return count
  }

  /** Null for `default`, undefined if absent. */
  countOrDefault(name: Option): number | null | undefined {
    const text = this.option(name)
    return text === undefined ? undefined : text === 'default' ? null : this.count(name)
  }

  /** A future date or time in ISO 8601, or null if absent. */
  expiry(name: Option): Date | null {
    const text = this.option(name)
    if (text === undefined) return null
    const expiry = new Date(text)
    if (Number.isNaN(expiry.getTime()))
      throw new UsageError(`--${name} must be a date such as 2027-01-31 or 2027-01-31T12:00:00Z`)
    if (expiry.getTime() <= Date.now()) throw new UsageError(`--${name} must be in the future`)
    return expiry
  }

  limitReset(name: Option): LimitReset {
    const text = this.option(name) ?? 'none'
    const reset = LIMIT_RESETS.find((known) => known === text)
    if (!reset) throw new UsageError(`--${name} must be one of ${LIMIT_RESETS.join(', ')}`)
    return reset
  }
}

function present(text: string | undefined, hint: string): string {
  if (!text?.trim()) throw new UsageError(hint)
  return text
}

/** An amount in USD, `5` or `$5.00`. Throws UsageError. */
export function readUsd(name: string, text = '', sign: 'positive' | 'zero-or-more' | 'signed' = 'positive') {
  const amount = parsed(text.replace(/^\$/, ''))
  if (amount === null || (sign !== 'signed' && amount < 0n))
    throw new UsageError(`${name} must be an amount in USD such as 5.00, with at most 12 decimals`)
  if (amount === 0n && sign !== 'zero-or-more')
    throw new UsageError(`${name} must ${sign === 'signed' ? 'not be zero' : 'be above zero'}`)
  return amount
}

function parsed(text: string): PicoUsd | null {
  try {
    return parseUsd(text)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return null
  }
}
