import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { parseArgs } from 'node:util'
import { SETTINGS } from '../config.ts'
import {
  AGENTS,
  type Agent,
  type AgentFacts,
  agentSettings,
  type LaunchedAgentId,
} from '../core/api/agent-settings.ts'
import { admin } from './admin.ts'
import { readUsd } from './command-input.ts'
import { UsageError } from './run-command.ts'

type LaunchedAgent = Extract<Agent, { id: LaunchedAgentId }>

const isLaunched = (agent: Agent): agent is LaunchedAgent => agent.id !== 'cline' && agent.id !== 'pi'
const LAUNCHED = AGENTS.filter(isLaunched)

const USAGE = `Usage: shuntyard launch ${LAUNCHED.map(({ program }) => program).join('|')}
                  [--model MODEL] [--account ACCOUNT] [--limit USD] [--url URL] [-- ARGUMENTS]

Starts an installed agent with the gateway's address and a key of its own in the environment of that process. No file is
written. ARGUMENTS are the agent's.

  --model     an id of /v2/models
  --account   the id or email of the account that pays; by default that of npm start
  --limit     what the key may spend, by default 5.00; the key is revoked when the agent ends
  --url       the gateway's address, by default that of HOST and PORT

With SHUNTYARD_API_KEY in the environment that key is used, no other is made, and no access to the services is needed.`

/** The account of `npm start`. */
const DEFAULT_ACCOUNT = 'demo@shuntyard.local'
const DEFAULT_LIMIT_USD = '5.00'
const CHECK_TIMEOUT_MS = 10_000

interface LaunchKey {
  secret: string
  /** What is said of it. */
  about: string
  /** Ends it, if it was made for this launch. */
  end: () => Promise<void>
}

/**
 * Starts an agent and waits for its end. Signals reach it, standard streams are its own.
 * @returns its exit code; of one that a signal ended 128 and the signal's number
 */
export async function launch(
  args: string[],
  environment: NodeJS.ProcessEnv,
  say: (line: string) => void,
): Promise<number> {
  const { agent, options, given } = readArguments(args)
  const { HOST = '', PORT = '8080' } = environment
  const host = ['', '0.0.0.0', '::'].includes(HOST) ? '127.0.0.1' : HOST
  const origin = (options.url ?? `http://${host}:${PORT}`).replace(/\/+(v2\/*)?$/, '')
  const model = options.model ?? agent.model
  const key = await keyOf(agent, options, environment)
  try {
    await checkModel(agent, { origin, model, apiKey: key.secret })
    const settings = agentSettings(agent.id, { origin, apiKey: key.secret, model })
    const names = Object.keys(settings.variables)
    say(`${agent.name} with ${model} at ${origin}/v2, ${key.about}`)
    say(`set for this process alone: ${[...names, ...shownOptions(settings.options)].join(' ')}`)
    const env = { ...agentEnvironment(environment, settings.cleared), ...settings.variables }
    return await run(agent, [...settings.options, ...given], env, environment.INIT_CWD)
  } finally {
    await key.end()
  }
}

function readArguments(args: string[]) {
  const at = args.indexOf('--')
  const own = at === -1 ? args : args.slice(0, at)
  const { values, positionals } = parseArgs({
    args: own,
    allowPositionals: true,
    options: {
      help: { type: 'boolean' },
      model: { type: 'string' },
      account: { type: 'string' },
      limit: { type: 'string' },
      url: { type: 'string' },
    },
  })
  const [name, ...rest] = positionals
  const agent = LAUNCHED.find(({ id, program }) => name === program || name === id)
  if (values.help || !agent) throw new UsageError(USAGE)
  if (rest.length > 0)
    throw new UsageError(`put the arguments of ${agent.program} behind --: -- ${rest.join(' ')}`)
  return { agent, options: values, given: at === -1 ? [] : args.slice(at + 1) }
}

/** The caller's key, or a new one of an account with a limit of its own. */
async function keyOf(
  { name }: LaunchedAgent,
  { account = DEFAULT_ACCOUNT, limit = DEFAULT_LIMIT_USD }: { account?: string; limit?: string },
  environment: NodeJS.ProcessEnv,
): Promise<LaunchKey> {
  const given = environment.SHUNTYARD_API_KEY
  if (given) return { secret: given, about: 'the key of SHUNTYARD_API_KEY', end: async () => undefined }
  readUsd('--limit', limit)
  const keyName = `launch ${name}`
  const create = ['key', 'create', '--account', account, '--name', keyName, '--limit', limit]
  const { data } = await admin(create, environment)
  const { key, key_id: id } = data as { key: string; key_id: string }
  return {
    secret: key,
    about: `key “${keyName}” (${id}) of ${account}, limit ${limit} USD, revoked at its end`,
    end: async () => void (await admin(['key', 'revoke', id], environment)),
  }
}

/**
 * Throws if the gateway cannot be reached, in its own words if it refuses the key or has no such model, and if the model takes no
 * tools: agents retry the refusal of such a call for a minute.
 */
async function checkModel({ id, name }: Agent, { origin, model, apiKey }: AgentFacts): Promise<void> {
  const url = `${origin}/v2/models/${encodeURIComponent(model)}`
  const headers = { authorization: `Bearer ${apiKey}` }
  const signal = AbortSignal.timeout(CHECK_TIMEOUT_MS)
  const response = await fetch(url, { headers, signal }).catch((cause: Error) => {
    throw new Error(`no gateway answers at ${origin}: start it, or name it with --url`, { cause })
  })
  const { error, supported_parameters: parameters } = (await response.json().catch(() => ({}))) as {
    error?: { message?: string }
    supported_parameters?: string[]
  }
  if (response.ok) {
    if (id === 'aider' || parameters?.includes('tools') !== false) return
    throw new Error(`${model} takes no tools, which ${name} needs: choose another with --model`)
  }
  throw new Error(error?.message ?? `${url} answered ${response.status}`)
}

/** Of several `-c` each with its value. */
const shownOptions = (options: readonly string[]): string[] =>
  options.map((option) => (/[\s"']/.test(option) ? `'${option}'` : option))

/** Without the gateway's own settings, its database and its master key among them. */
function agentEnvironment(environment: NodeJS.ProcessEnv, cleared: readonly string[] = []) {
  const left = { ...environment }
  for (const name of [...SETTINGS.map(({ variable }) => variable), ...cleared]) delete left[name]
  return left
}

const FORWARDED = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const

function run(
  { program, install }: LaunchedAgent,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  cwd: string | undefined,
): Promise<number> {
  const child = spawn(program, args, { env, cwd, stdio: 'inherit' })
  const forward = (signal: NodeJS.Signals) => {
    // A terminal sends these to the agent as well, for which two of them may mean something else.
    if (process.stdin.isTTY && (signal === 'SIGINT' || signal === 'SIGQUIT')) return
    child.kill(signal)
  }
  const end = () => void child.kill('SIGTERM')
  for (const signal of FORWARDED) process.on(signal, forward)
  // The launcher of this command was killed.
  process.once('disconnect', end)
  return new Promise<number>((resolve, reject) => {
    child.once('error', (error: NodeJS.ErrnoException) =>
      reject(error.code === 'ENOENT' ? new Error(`${program} is not installed: ${install}`) : error),
    )
    child.once('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal!]))
  }).finally(() => {
    for (const signal of FORWARDED) process.off(signal, forward)
    process.off('disconnect', end)
  })
}

async function main(): Promise<void> {
  const say = (line: string) => void process.stderr.write(`${line}\n`)
  process.exitCode = await launch(process.argv.slice(2), process.env, say).catch((error: Error) => {
    say(error.message)
    return error instanceof UsageError ? 2 : 1
  })
}

if (import.meta.main) await main()
