import { parseArgs } from 'node:util'
import pino from 'pino'
import { composeAccounts } from '../compose/accounts.ts'
import { composeBilling } from '../compose/billing.ts'
import { composeOperators } from '../compose/operators.ts'
import { readConfig } from '../config.ts'
import { announceKeyChange, type KeyChange } from '../platform/redis/key-changes.ts'
import { accountCommands } from './admin-accounts.ts'
import { archiveCommands } from './admin-archive.ts'
import { callPaymentCommands } from './admin-call-payments.ts'
import { ADMIN_OPTIONS, type AdminCommands, type AdminContext } from './admin-command.ts'
import { byokKeyCommands, keyCommands } from './admin-keys.ts'
import { offerCommands, secretCommands, settlementCommands } from './admin-operations.ts'
import { operatorCommands } from './admin-operators.ts'
import { providerUsageCommands } from './admin-provider-usage.ts'
import { surfaceCommands } from './admin-surfaces.ts'
import { topUpCommands } from './admin-topups.ts'
import { webhookCommands } from './admin-webhooks.ts'
import { withClients } from './clients.ts'
import { CommandInput, commandOperator } from './command-input.ts'
import { type CommandOutput, runAsProcess, UsageError } from './run-command.ts'

const USAGE = `Usage: npm run admin -- COMMAND [--json]

  account create --email EMAIL [--credit USD]     without --credit: the free credit
  account list [TEXT] [--limit N]                 newest first; TEXT is a part of the email
  account show ACCOUNT                            ACCOUNT is an id or an email
  account credit ACCOUNT --amount USD [--reference ID]
  account adjust ACCOUNT --amount USD --reason TEXT [--reference ID]   a negative amount takes
  account alert ACCOUNT --below USD|never         when balance.low is sent
  account limits ACCOUNT [--rpm N|default] [--concurrency N|default]   over all its keys
  account set-password ACCOUNT                    prints a new one, once; ends the account's sessions
  account reset-second-factor ACCOUNT             for a holder who lost it: the password alone signs in
  account suspend | resume ACCOUNT [--reason TEXT]    resume also waives uncharged provider cost
  key create --account ACCOUNT [--name NAME] [--limit USD [--limit-reset daily|weekly|monthly]]
             [--expires DATE] [--rpm N] [--concurrency N]
             [--scope provider_keys,top_ups]      what it may do beside calls
  key list [--account ACCOUNT]
  key revoke KEY_ID
  operator list                                   OPERATOR is an id, an email or a name
  operator add --name NAME --role admin|billing|support|viewer [--email EMAIL]
  operator role OPERATOR --role ROLE
  operator disable | enable OPERATOR              disable: ends sessions and keys at once
  admin-key create [--operator OPERATOR] [--name NAME] [--expires DATE]
                                                  without --operator: of NAME, who becomes an admin if new
  admin-key list [--operator OPERATOR]
  topup create --account ACCOUNT --amount USD --rail card|paypal|development
  topup list [--account ACCOUNT] [--limit N]
  topup show | check PAYMENT_ID                   check asks the rail, instead of waiting for its webhook
  topup refund PAYMENT_ID [--amount USD] [--reason TEXT] [--force]
                                                  without --amount: what is left of it. --force: also what the
                                                  balance does not hold; the account owes it and is suspended
  topup reconcile                                 asks the rails for refunds and disputes that webhooks missed
  call-payment list [--limit N]                   x402 payments for single calls, newest first
  call-payment resolve CALL_ID --transaction HASH | --unpaid REASON   of one that expired unproven
  call-payment days [--limit N]                   settled ones by day (UTC), to compare with the wallet's transfers
  provider-usage compare FILE [--tolerance PERCENT]   usage that providers report (CSV: day, provider, model and
                                                  prompt_tokens, completion_tokens, cost_usd) beside our records
  provider-usage import FILE [--tolerance PERCENT]    the same, and keeps it instead of what the days had before
  provider-usage list [--limit N] [--tolerance PERCENT]   what was imported, newest day first
  webhook create --account ACCOUNT --url URL [--events TYPE,TYPE]
  webhook list [--account ACCOUNT]
  webhook test | enable | delete | rotate-secret WEBHOOK_ID
  webhook deliveries [WEBHOOK_ID] [--account ACCOUNT] [--limit N]
  provider-key list [--account ACCOUNT]           clients' BYOK keys at providers, never their secrets
  provider-key revoke PROVIDER_KEY_ID
  rotate-sealed                                   seals stored secrets under the present MASTER_KEY
  provider enable PROVIDER | offer enable OFFER   closes a breaker: what refused us is tried again at once
  surface list [--account ACCOUNT | --key KEY_ID | --every-account]   surfaces and their status; with a holder,
                                                  what is opened to it
  surface open | close SURFACE --account ACCOUNT | --key KEY_ID | --every-account
  quarantine list | retry CALL_ID | waive CALL_ID
  conflict list | close CALL_ID --reason TEXT     calls whose records contradict each other
  archive MONTH --directory DIR                   moves the calls and postings of an old month, 2026-03, to files
  archive list | verify FILE                      verify proves an archive by its manifest, without the database

A --reference credits or adjusts once, however often the command runs with it. Every change is recorded in the
audit log under the user of the operating system.`

export const ADMIN_COMMANDS: AdminCommands = {
  ...accountCommands,
  ...keyCommands,
  ...operatorCommands,
  ...topUpCommands,
  ...callPaymentCommands,
  ...providerUsageCommands,
  ...webhookCommands,
  ...byokKeyCommands,
  ...secretCommands,
  ...offerCommands,
  ...surfaceCommands,
  ...settlementCommands,
  ...archiveCommands,
}

/** The command of some arguments and its input. Throws UsageError, or an error of parseArgs, for what does not exist. */
export function parseAdmin(args: string[]) {
  const { values, positionals } = parseArgs({
    args: joinNegatives(args),
    options: ADMIN_OPTIONS,
    allowPositionals: true,
  })
  const isAlone = Object.hasOwn(ADMIN_COMMANDS, positionals[0] ?? '')
  const name = positionals.slice(0, isAlone ? 1 : 2).join(' ')
  if (values.help || name === '') throw new UsageError(USAGE)
  const command = Object.hasOwn(ADMIN_COMMANDS, name) ? ADMIN_COMMANDS[name] : undefined
  if (!command) throw unknownCommand(name, Object.keys(ADMIN_COMMANDS))
  return { command, input: new CommandInput(values, positionals.slice(isAlone ? 1 : 2)) }
}

/** `npm run admin -- COMMAND [--json]`: every command of USAGE. */
export async function admin(args: string[], environment: NodeJS.ProcessEnv): Promise<CommandOutput> {
  const { command, input } = parseAdmin(args)
  return withServices(environment, (services) => command({ ...services, input }))
}

/** Runs a command over the services that operators use. */
export function withServices<T>(
  environment: NodeJS.ProcessEnv,
  run: (services: Omit<AdminContext, 'input'>) => Promise<T>,
): Promise<T> {
  const config = readConfig(environment)
  return withClients(config, 'shuntyard-admin', async ({ postgres, redis }) => {
    const announce = (change: KeyChange) => announceKeyChange(redis, change)
    const clients = {
      ...{ postgres, redis, announce, clock: Date.now },
      reportsPostgres: postgres,
      reportsReplica: postgres,
      responsesPostgres: postgres,
      announceAccount: (accountId: string) => announce({ accountId }),
      // Failures are the command's result, and standard output must contain only its JSON.
      logger: pino({ level: 'silent' }),
    }
    const billing = await composeBilling(config, clients)
    const accounts = { ...composeAccounts(config, clients, billing), ...billing }
    const operators = composeOperators(config, clients, accounts)
    return run({ ...accounts, ...operators, ...clients, config, operator: commandOperator() })
  })
}

/** Lists the commands of the same group, or all groups. */
function unknownCommand(name: string, known: readonly string[]): UsageError {
  const groupOf = (command: string) => command.split(' ')[0]!
  const ofGroup = known.filter((command) => groupOf(command) === groupOf(name))
  const choices = ofGroup.length > 0 ? ofGroup : [...new Set(known.map(groupOf))]
  return new UsageError(`there is no command "${name}". Known: ${choices.join(', ')}. See --help.`)
}

/** Makes `--amount -1.00` one argument, which the parser would take for two options. */
function joinNegatives(args: string[]): string[] {
  return args.flatMap((arg, index) => {
    if (args[index - 1] === '--amount' && /^-[\d.$]/.test(arg)) return []
    const next = args[index + 1]
    return arg === '--amount' && next && /^-[\d.$]/.test(next) ? [`${arg}=${next}`] : [arg]
  })
}

if (import.meta.main) await runAsProcess(admin)
