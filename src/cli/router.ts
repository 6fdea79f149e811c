/**
 * What `auto` does with prompts, without sending them anywhere:
 *
 *   score FILE.jsonl      reads lines of {id, prompt} or {id, messages}, prints lines of {id, score, tier}
 *   calibrate FILE.jsonl  the same lines of your own traffic, to bounds for the catalog document
 *   explain "PROMPT"      the score, what moved it, and the models each profile would try; --all as if every
 *                         provider's key were in the environment
 */
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { createCatalogStore } from '../catalog/catalog-store.ts'
import { readConfig } from '../config.ts'
import { boundsFitting, DEFAULT_BOUNDS, tierOf } from '../core/auto-bounds.ts'
import { type CatalogSnapshot, compareByPrice } from '../core/catalog.ts'
import {
  type ChatRequest,
  parseChatRequest,
  ROUTING_PROFILES,
  type RoutingProfile,
} from '../core/chat-request.ts'
import { scoreTurns } from '../core/difficulty/score-turns.ts'
import { SHIPPED_MODEL } from '../core/difficulty/shipped-model.ts'
import { explainAuto } from '../core/explain-auto.ts'
import { type CommandOutput, runCommand, UsageError } from './run-command.ts'

const USAGE = `usage: router score FILE.jsonl [--profile auto] [--json]
       router calibrate FILE.jsonl [--json]
       router explain "PROMPT" [--all] [--json]`

const SCORE_DECIMALS = 6

interface Flags {
  all: boolean
  profile: string
}

async function run(positionals: string[], flags: Flags): Promise<CommandOutput> {
  const [command, argument, ...rest] = positionals
  if (argument === undefined || rest.length > 0) throw new UsageError(USAGE)
  switch (command) {
    case 'score':
      return scoreFile(argument, readProfile(flags.profile))
    case 'calibrate':
      return calibrate(argument)
    case 'explain':
      return explain(argument, flags.all)
    default:
      throw new UsageError(USAGE)
  }
}

function readProfile(name: string): RoutingProfile {
  const profile = ROUTING_PROFILES.find((known) => known === name)
  if (!profile) throw new UsageError(`--profile must be one of ${ROUTING_PROFILES.join(', ')}`)
  return profile
}

async function scoreFile(file: string, profile: RoutingProfile): Promise<CommandOutput> {
  const data = (await scoredLines(file)).map(({ id, scores }) => ({
    id,
    score: Number(scores.at(-1)!.toFixed(SCORE_DECIMALS)),
    tier: tierOf(scores, DEFAULT_BOUNDS[profile]),
  }))
  return { data, text: data.map((scored) => JSON.stringify(scored)).join('\n') }
}

async function calibrate(file: string): Promise<CommandOutput> {
  const scored = await scoredLines(file)
  const data = { auto_bounds: boundsFitting(scored.map(({ scores }) => scores.at(-1)!)) }
  return { data, text: JSON.stringify(data) }
}

async function scoredLines(file: string): Promise<Array<{ id: unknown; scores: number[] }>> {
  // npm runs scripts in the project's folder; paths are meant from where it was called.
  const text = await readFile(resolve(process.env.INIT_CWD ?? '', file), 'utf8')
  return text.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return []
    const { id, messages, parameters } = readLine(line, index + 1)
    return [{ id, scores: scoreTurns(messages, parameters, SHIPPED_MODEL) }]
  })
}

/** One line of a file to score. A prompt stands for one message of the user; everything else is read like a request's body. */
function readLine(
  line: string,
  number: number,
): Pick<ChatRequest, 'messages' | 'parameters'> & { id: unknown } {
  try {
    const { id, prompt, messages, ...others } = JSON.parse(line)
    if (typeof prompt === 'string')
      return { id, messages: [{ role: 'user', content: prompt }], parameters: {} }
    return { id, ...parseChatRequest({ ...others, messages }) }
  } catch (error) {
    throw new Error(`line ${number}: ${(error as Error).message}`, { cause: error })
  }
}

async function explain(prompt: string, all: boolean): Promise<CommandOutput> {
  const catalog = await loadCatalog()
  const request = parseChatRequest({ messages: [{ role: 'user', content: prompt }] })
  const explanation = explainAuto(request, all ? withEveryKey(catalog) : catalog)
  const { score, features, profiles } = explanation
  const text = [
    `score ${score.toFixed(3)}`,
    '',
    ...features.map(
      ({ name, effect }) => `  ${name.padEnd(24)} ${effect >= 0 ? '+' : ''}${effect.toFixed(2)}`,
    ),
    '',
    ...profiles.map(
      ({ profile, tier, models }) =>
        `${profile.padEnd(8)} ${tier.padEnd(9)} ${models.join(', ') || NO_MODELS}`,
    ),
  ]
  return { data: explanation, text: text.join('\n') }
}

const NO_MODELS = 'no model: no provider key is in the environment (--all shows the whole catalog)'

/** The catalog of this environment. It works before there is a database, so what others need is made up. */
async function loadCatalog(): Promise<CatalogSnapshot> {
  const notUsed = { DATABASE_URL: 'not used', REDIS_URL: 'not used', MASTER_KEY: '0'.repeat(64) }
  const config = readConfig({ ...notUsed, ...process.env })
  const report = ({ err }: { err: unknown }, message: string) => {
    process.stderr.write(`${message}: ${(err as Error).message}\n`)
  }
  const logger = { info: () => undefined, warn: report, error: report }
  const store = await createCatalogStore({ ...config, environment: process.env, logger })
  store.close()
  return store.snapshot()
}

/** The catalog as if every offer could be used. */
function withEveryKey(catalog: CatalogSnapshot): CatalogSnapshot {
  const models = [...catalog.models.values()]
    .filter((model) => model.auto)
    .map((model) => ({ ...model, offers: model.offers.map((offer) => ({ ...offer, shared: true })) }))
  return { ...catalog, autoLadder: models.sort(compareByPrice) }
}

const options = {
  json: { type: 'boolean', default: false },
  all: { type: 'boolean', default: false },
  profile: { type: 'string', default: 'auto' },
} as const

await runCommand(process.argv.includes('--json'), () => {
  const { values, positionals } = parseArgs({ allowPositionals: true, options })
  return run(positionals, values)
})
