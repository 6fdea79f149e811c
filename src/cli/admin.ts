import { parseArgs } from 'node:util'
import { readConfig } from '../config.ts'
import { accountCommands } from './admin-accounts.ts'
import { adjustAccount } from './admin-adjust.ts'
import { conflictCommands } from './admin-conflicts.ts'
import { keyCommands } from './admin-keys.ts'
import { offerCommands } from './admin-offers.ts'
import { setAccountPassword } from './admin-password.ts'
import { providerKeyCommands } from './admin-provider-keys.ts'
import { quarantineCommands } from './admin-quarantine.ts'
import { rotateSealed } from './admin-rotate.ts'
import { topUpCommands } from './admin-topups.ts'
import { webhookCommands } from './admin-webhooks.ts'
import { openClients } from './clients.ts'
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
  account suspend ACCOUNT
  account resume ACCOUNT
  key create --account ACCOUNT [--name NAME] [--limit USD [--limit-reset daily|weekly|monthly]]
             [--expires DATE] [--rpm N] [--concurrency N]
  key list [--account ACCOUNT]
  key revoke KEY_ID
  admin-key create [--name NAME] [--expires DATE]
  topup create --account ACCOUNT --amount USD --rail card|paypal|development
  topup list [--account ACCOUNT] [--limit N]
  topup show | check PAYMENT_ID                   check asks the rail, instead of waiting for its webhook
  topup refund PAYMENT_ID [--amount USD]          without --amount: what is left of it
  topup reconcile                                 asks the rails for refunds and disputes that webhooks missed
  webhook create --account ACCOUNT --url URL [--events TYPE,TYPE]
  webhook list [--account ACCOUNT]
  webhook test | enable | delete | rotate-secret WEBHOOK_ID
  webhook deliveries [WEBHOOK_ID] [--account ACCOUNT] [--limit N]
  provider-key list [--account ACCOUNT]           clients' own keys at providers, never their secrets
  provider-key revoke PROVIDER_KEY_ID
  rotate-sealed                                   seals stored secrets under the present MASTER_KEY
  provider enable PROVIDER | offer enable OFFER   closes a breaker: what refused us is tried again at once
  quarantine list | retry CALL_ID | waive CALL_ID
  conflict list | close CALL_ID --reason TEXT     calls whose records contradict each other

A --reference credits or adjusts once, however often the command runs with it.`

const OPTIONS = {
  json: { type: 'boolean' },
  help: { type: 'boolean' },
  email: { type: 'string' },
  account: { type: 'string' },
  credit: { type: 'string' },
  amount: { type: 'string' },
  reference: { type: 'string' },
  name: { type: 'string' },
  limit: { type: 'string' },
  'limit-reset': { type: 'string' },
  expires: { type: 'string' },
  rpm: { type: 'string' },
  concurrency: { type: 'string' },
  url: { type: 'string' },
  events: { type: 'string' },
  below: { type: 'string' },
  reason: { type: 'string' },
  rail: { type: 'string' },
} as const

/** `npm run admin -- COMMAND [--json]`: every command of USAGE. */
export async function admin(args: string[], environment: NodeJS.ProcessEnv): Promise<CommandOutput> {
  const { values, positionals } = parseArgs({
    args: joinNegatives(args),
    options: OPTIONS,
    allowPositionals: true,
  })
  const [group, action, subject, extra] = positionals
  if (values.help || !group) throw new UsageError(USAGE)

  const config = readConfig(environment)
  const clients = openClients(config, 'switchyard-admin')
  const account = {
    account: values.account ?? subject ?? values.email,
    email: values.email,
    amount: values.amount ?? values.credit ?? extra,
    reference: values.reference,
    below: values.below,
    rpm: values.rpm,
    concurrency: values.concurrency,
    limit: values.limit,
  }
  const key = { ...values, limitReset: values['limit-reset'], key: subject } as Parameters<
    ReturnType<typeof keyCommands>['create']
  >[0]
  const topUp = {
    payment: subject,
    account: values.account,
    amount: values.amount,
    rail: values.rail,
    limit: values.limit,
  }
  const webhook = {
    endpoint: subject,
    account: values.account,
    url: values.url,
    events: values.events,
    limit: values.limit,
  }
  const commands: Record<string, () => Promise<CommandOutput>> = {
    'account create': () => accountCommands(clients, config).create(account),
    'account list': () => accountCommands(clients, config).list(account),
    'account show': () => accountCommands(clients, config).show(account),
    'account adjust': () => adjustAccount(clients, { ...account, reason: values.reason }),
    'account credit': () => accountCommands(clients, config).credit(account),
    'account alert': () => accountCommands(clients, config).alert(account),
    'account limits': () => accountCommands(clients, config).limits(account),
    'account set-password': () => setAccountPassword(clients, account.account),
    'account suspend': () => accountCommands(clients, config).suspend(account),
    'account resume': () => accountCommands(clients, config).resume(account),
    'key create': () => keyCommands(clients, config).create(key),
    'key list': () => keyCommands(clients, config).list(key),
    'key revoke': () => keyCommands(clients, config).revoke(key),
    'admin-key create': () => keyCommands(clients, config).createAdmin(key),
    'topup create': () => topUpCommands(clients, config).create(topUp),
    'topup list': () => topUpCommands(clients, config).list(topUp),
    'topup show': () => topUpCommands(clients, config).show(topUp),
    'topup check': () => topUpCommands(clients, config).check(topUp),
    'topup reconcile': () => topUpCommands(clients, config).reconcile(),
    'topup refund': () => topUpCommands(clients, config).refund(topUp),
    'webhook create': () => webhookCommands(clients, config).create(webhook),
    'webhook list': () => webhookCommands(clients, config).list(webhook),
    'webhook delete': () => webhookCommands(clients, config).delete(webhook),
    'webhook enable': () => webhookCommands(clients, config).enable(webhook),
    'webhook rotate-secret': () => webhookCommands(clients, config).rotateSecret(webhook),
    'webhook test': () => webhookCommands(clients, config).test(webhook),
    'webhook deliveries': () => webhookCommands(clients, config).deliveries(webhook),
    'provider-key list': () => providerKeyCommands(clients, config).list(values.account ?? subject),
    'provider-key revoke': () => providerKeyCommands(clients, config).revoke(subject),
    'rotate-sealed': () => rotateSealed(clients, config),
    'provider enable': () => offerCommands(clients).enableProvider(subject),
    'offer enable': () => offerCommands(clients).enableOffer(subject),
    'conflict list': () => conflictCommands(clients).list(),
    'conflict close': () => conflictCommands(clients).close(subject, values.reason),
    'quarantine list': () => quarantineCommands(clients).list(),
    'quarantine retry': () => quarantineCommands(clients).retry(subject),
    'quarantine waive': () => quarantineCommands(clients).waive(subject),
  }
  const name = `${group} ${action ?? ''}`.trim()
  try {
    if (!Object.hasOwn(commands, name)) throw unknownCommand(name, Object.keys(commands))
    return await commands[name]!()
  } finally {
    await clients.close()
  }
}

/** Names the commands of the group that was meant, or the groups. */
function unknownCommand(name: string, known: readonly string[]): UsageError {
  const groupOf = (command: string) => command.split(' ')[0]!
  const ofGroup = known.filter((command) => groupOf(command) === groupOf(name))
  const choices = ofGroup.length > 0 ? ofGroup : [...new Set(known.map(groupOf))]
  return new UsageError(`there is no command "${name}". Known: ${choices.join(', ')}. --help tells more.`)
}

/** `--amount -1.00` is an amount; to the parser it would be two options. */
function joinNegatives(args: string[]): string[] {
  return args.flatMap((arg, index) => {
    if (args[index - 1] === '--amount' && /^-[\d.$]/.test(arg)) return []
    const next = args[index + 1]
    return arg === '--amount' && next && /^-[\d.$]/.test(next) ? [`${arg}=${next}`] : [arg]
  })
}

if (import.meta.main) await runAsProcess(admin)
