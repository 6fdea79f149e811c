import type { Accounts } from '../compose/accounts.ts'
import type { Billing } from '../compose/billing.ts'
import type { Operators } from '../compose/operators.ts'
import type { Config } from '../config.ts'
import type { Operator } from '../operators/audit-log.ts'
import type { Logger } from '../platform/observability/logger.ts'
import type { CommandClients } from './clients.ts'
import type { CommandInput } from './command-input.ts'
import type { CommandOutput } from './run-command.ts'

export const ADMIN_OPTIONS = {
  json: { type: 'boolean' },
  help: { type: 'boolean' },
  email: { type: 'string' },
  account: { type: 'string' },
  key: { type: 'string' },
  credit: { type: 'string' },
  amount: { type: 'string' },
  reference: { type: 'string' },
  name: { type: 'string' },
  operator: { type: 'string' },
  role: { type: 'string' },
  limit: { type: 'string' },
  'limit-reset': { type: 'string' },
  expires: { type: 'string' },
  scope: { type: 'string' },
  rpm: { type: 'string' },
  concurrency: { type: 'string' },
  url: { type: 'string' },
  events: { type: 'string' },
  below: { type: 'string' },
  reason: { type: 'string' },
  rail: { type: 'string' },
  transaction: { type: 'string' },
  unpaid: { type: 'string' },
  tolerance: { type: 'string' },
  directory: { type: 'string' },
  force: { type: 'boolean' },
  'every-account': { type: 'boolean' },
} as const

/** The input and services of an `admin` command. */
export interface AdminContext extends Billing, Accounts, Operators, CommandClients {
  config: Config
  logger: Logger
  operator: Operator
  input: CommandInput<keyof typeof ADMIN_OPTIONS>
}

/** Commands by their names, `account create`. */
export type AdminCommands = Record<string, (context: AdminContext) => Promise<CommandOutput>>

/** The id of the account that a command names, or undefined if it names none. */
export async function accountIdOf(
  { accountManagement }: Pick<Operators, 'accountManagement'>,
  idOrEmail: string | undefined,
): Promise<string | undefined> {
  return idOrEmail === undefined ? undefined : (await accountManagement.find(idOrEmail)).id
}
