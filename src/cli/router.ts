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
import { boundsFitting, DEFAULT_BOUNDS, tierOf } from '../core/auto/auto-routing.ts'
import { SHIPPED_MODEL, scoreTurns } from '../core/auto/difficulty/score-turns.ts'
import { explainAuto } from '../core/auto/explain-auto.ts'
import { ROUTING_PROFILES, type RoutingProfile } from '../core/auto/tiers.ts'
import { type ChatContent, parseChatRequest } from '../core/calls/chat-request.ts'
import { type CatalogSnapshot, compareByPrice } from '../core/catalog/catalog.ts'
import { loadSnapshot } from './catalog.ts'
import { type CommandOutput, runAsProcess, UsageError } from './run-command.ts'

const USAGE = `usage: router score FILE.jsonl [--profile auto] [--json]
       router calibrate FILE.jsonl [--json]
       router explain "PROMPT" [--all] [--json]`

const SCORE_DECIMALS = 6

const OPTIONS = {
  json: { type: 'boolean', default: false },
  all: { type: 'boolean', default: false },
  profile: { type: 'string', default: 'auto' },
} as const

async function router(args: string[], environment: NodeJS.ProcessEnv): Promise<CommandOutput> {
  const { values: flags, positionals } = parseArgs({ args, allowPositionals: true, options: OPTIONS })
  const [command, argument, ...rest] = positionals
  if (argument === undefined || rest.length > 0) throw new UsageError(USAGE)
  // npm runs scripts in the project's folder; paths are relative to the caller's.
  const path = resolve(environment.INIT_CWD ?? '', argument)
  switch (command) {
    case 'score':
      return scoreFile(path, readProfile(flags.profile))
    case 'calibrate':
      return calibrate(path)
    case 'explain':
      return explain(argument, environment, flags.all)
    default:
      throw new UsageError(USAGE)
  }
}

function readProfile(name: string): RoutingProfile {
  const profile = ROUTING_PROFILES.find((known) => known === name)
  if (!profile) throw new UsageError(`--profile must be one of ${ROUTING_PROFILES.join(', ')}`)
  return profile
}

async function scoreFile(path: string, profile: RoutingProfile): Promise<CommandOutput> {
  const data = (await scoredLines(path)).map(({ id, scores }) => ({
    id,
    score: Number(scores.at(-1)!.toFixed(SCORE_DECIMALS)),
    tier: tierOf(scores, DEFAULT_BOUNDS[profile]),
  }))
  return { data, text: data.map((scored) => JSON.stringify(scored)).join('\n') }
}

async function calibrate(path: string): Promise<CommandOutput> {
  const scored = await scoredLines(path)
  const data = { auto_bounds: boundsFitting(scored.map(({ scores }) => scores.at(-1)!)) }
  return { data, text: JSON.stringify(data) }
}

async function scoredLines(path: string): Promise<Array<{ id: unknown; scores: number[] }>> {
  const text = await readFile(path, 'utf8')
  return text.split('\n').flatMap((line, index) => {
    if (line.trim() === '') return []
    const { id, messages, parameters } = readLine(line, index + 1)
    return [{ id, scores: scoreTurns(messages, parameters, SHIPPED_MODEL) }]
  })
}

/** One line of a file to score. A prompt becomes one user message; other fields are parsed like a request's body. */
function readLine(
  line: string,
  number: number,
): Pick<ChatContent, 'messages' | 'parameters'> & { id: unknown } {
  try {
    const { id, prompt, messages, ...others } = JSON.parse(line)
    if (typeof prompt === 'string')
      return { id, messages: [{ role: 'user', content: prompt }], parameters: {} }
    return { id, ...parseChatRequest({ ...others, messages }).content }
  } catch (error) {
    throw new Error(`line ${number}: ${(error as Error).message}`, { cause: error })
  }
}

async function explain(prompt: string, environment: NodeJS.ProcessEnv, all: boolean): Promise<CommandOutput> {
  const catalog = await loadSnapshot(environment)
  const { content } = parseChatRequest({ messages: [{ role: 'user', content: prompt }] })
  const explanation = explainAuto(content, all ? withEveryKey(catalog) : catalog)
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

/** The catalog as if every offer were available. */
function withEveryKey(catalog: CatalogSnapshot): CatalogSnapshot {
  const models = [...catalog.models.values()]
    .filter((model) => model.auto)
    .map((model) => ({ ...model, offers: model.offers.map((offer) => ({ ...offer, shared: true })) }))
  return { ...catalog, autoLadder: models.sort(compareByPrice) }
}

await runAsProcess(router)
