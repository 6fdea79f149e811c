/**
 * What `auto` does with prompts, without sending them anywhere:
 *
 *   score FILE.jsonl      reads lines of {id, prompt} or {id, messages}, prints lines of {id, score, kind, model}
 *   calibrate FILE.jsonl  the same lines of your own traffic, to prices of a point for the catalog document
 *   choices FILE.jsonl    the same lines, to a Markdown table of the model that each profile chooses, its cost and why
 *   explain "PROMPT"      kind and score, what moved it, and the models that each profile would try with their quality,
 *                         cost and value; with --messages FILE.json, a file with {messages}, also whether the
 *                         conversation stays on its model
 *   arena FILE            reads prompts of RouterArena (a JSON list, or JSON lines, of {"global index", prompt_formatted}),
 *                         prints its file of predictions; --names FILE.json has its names of models by id, and only
 *                         these are chosen
 *
 * The models are those whose provider's key is in the environment; --all counts every key as set, as do `score`, `choices` and
 * `calibrate` if none is. --point-usd replaces the profile's price of a point.
 */

import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { arenaNames, arenaPredictions, arenaPrompts } from '../core/auto/arena-predictions.ts'
import { chooseAutoModels } from '../core/auto/auto-routing.ts'
import { choiceTable } from '../core/auto/choice-table.ts'
import { type AutoExplanation, explainAuto } from '../core/auto/explain-auto.ts'
import { fittedPointUsd } from '../core/auto/fitted-point-usd.ts'
import { ROUTING_PROFILES, type RoutingProfile } from '../core/auto/routing-profiles.ts'
import { type ChatContent, parseChatRequest } from '../core/calls/chat-request.ts'
import { chatNeeds } from '../core/calls/kinds/chat.ts'
import { type CatalogSnapshot, compareByPrice } from '../core/catalog/catalog.ts'
import { loadSnapshot } from './catalog.ts'
import { type CommandOutput, runAsProcess, UsageError } from './run-command.ts'

const USAGE = `usage: router score FILE.jsonl [--profile auto] [--point-usd USD] [--all] [--json]
       router calibrate FILE.jsonl [--all] [--json]
       router choices FILE.jsonl [--all] [--json]
       router arena FILE [--names FILE.json] [--profile auto] [--point-usd USD] [--all]
       router explain "PROMPT" | --messages FILE.json [--all] [--json]`

const SCORE_DECIMALS = 6

const OPTIONS = {
  json: { type: 'boolean', default: false },
  all: { type: 'boolean', default: false },
  profile: { type: 'string', default: 'auto' },
  'point-usd': { type: 'string' },
  messages: { type: 'string' },
  names: { type: 'string' },
} as const

async function router(args: string[], environment: NodeJS.ProcessEnv): Promise<CommandOutput> {
  const { values: flags, positionals } = parseArgs({ args, allowPositionals: true, options: OPTIONS })
  const [command, argument = flags.messages, ...rest] = positionals
  if (argument === undefined || rest.length > 0) throw new UsageError(USAGE)
  // npm runs scripts in the project's folder; paths are relative to the caller's.
  const pathOf = (name: string) => resolve(environment.INIT_CWD ?? '', name)
  const path = pathOf(argument)
  const pricedLadder = async (profile: RoutingProfile) => {
    const pointUsd = readPointUsd(flags['point-usd'])
    const catalog = await loadLadder(environment, flags.all)
    return pointUsd === null ? catalog : { ...catalog, autoPointUsd: { [profile]: pointUsd } }
  }
  switch (command) {
    case 'score': {
      const profile = readProfile(flags.profile)
      return scoreFile(path, profile, await pricedLadder(profile))
    }
    case 'arena': {
      const profile = readProfile(flags.profile)
      const names = flags.names === undefined ? null : arenaNames(await readJson(pathOf(flags.names)))
      const prompts = arenaPrompts(await readFile(path, 'utf8'))
      const data = arenaPredictions(prompts, names, profile, await pricedLadder(profile))
      return { data, text: JSON.stringify(data, null, 2) }
    }
    case 'choices': {
      const data = choiceTable(await readLines(path), await loadLadder(environment, flags.all))
      return { data, text: data.join('\n') }
    }
    case 'calibrate':
      return calibrate(path, await loadLadder(environment, flags.all))
    case 'explain':
      return explain(
        flags.messages === undefined
          ? { messages: [{ role: 'user', content: argument }] }
          : await readJson(path),
        environment,
        flags.all,
      )
    default:
      throw new UsageError(USAGE)
  }
}

function readProfile(name: string): RoutingProfile {
  const profile = ROUTING_PROFILES.find((known) => known === name)
  if (!profile) throw new UsageError(`--profile must be one of ${ROUTING_PROFILES.join(', ')}`)
  return profile
}

function readPointUsd(text: string | undefined): number | null {
  if (text === undefined) return null
  const usd = Number(text)
  if (!(usd > 0)) throw new UsageError('--point-usd must be a positive number of USD')
  return usd
}

/** The catalog with the models that `score` and `calibrate` choose among. */
async function loadLadder(environment: NodeJS.ProcessEnv, all: boolean): Promise<CatalogSnapshot> {
  const catalog = await loadSnapshot(environment)
  return all || catalog.autoLadder.length === 0 ? withEveryKey(catalog) : catalog
}

async function scoreFile(
  path: string,
  profile: RoutingProfile,
  catalog: CatalogSnapshot,
): Promise<CommandOutput> {
  const data = (await readLines(path)).map(({ id, ...content }) => {
    const needs = chatNeeds({ ...content, routingProfile: profile })
    const { score, kind, models } = chooseAutoModels(needs.auto, needs, catalog, () => true)
    return { id, score: Number(score.toFixed(SCORE_DECIMALS)), kind, model: models[0]?.id ?? null }
  })
  return { data, text: data.map((scored) => JSON.stringify(scored)).join('\n') }
}

async function calibrate(path: string, catalog: CatalogSnapshot): Promise<CommandOutput> {
  const data = { auto_point_usd: fittedPointUsd(await readLines(path), catalog) }
  return { data, text: JSON.stringify(data) }
}

type Line = Pick<ChatContent, 'messages' | 'parameters'> & { id: unknown }

async function readLines(path: string): Promise<Line[]> {
  const text = await readFile(path, 'utf8')
  return text.split('\n').flatMap((line, index) => (line.trim() === '' ? [] : [readLine(line, index + 1)]))
}

/** One line of a file to score. A prompt becomes one user message; other fields are parsed like a request's body. */
function readLine(line: string, number: number): Line {
  try {
    const { id, prompt, messages, ...others } = JSON.parse(line)
    if (typeof prompt === 'string')
      return { id, messages: [{ role: 'user', content: prompt }], parameters: {} }
    return { id, ...parseChatRequest({ ...others, messages }).content }
  } catch (error) {
    throw new Error(`line ${number}: ${(error as Error).message}`, { cause: error })
  }
}

const readJson = async (path: string): Promise<unknown> => JSON.parse(await readFile(path, 'utf8'))

async function explain(body: unknown, environment: NodeJS.ProcessEnv, all: boolean): Promise<CommandOutput> {
  const catalog = await loadSnapshot(environment)
  const { content } = parseChatRequest(body)
  const explanation = explainAuto(content, all ? withEveryKey(catalog) : catalog)
  const { score, kind, features, profiles } = explanation
  const text = [
    `score ${score.toFixed(3)}, kind ${kind}`,
    '',
    ...features.map(
      ({ name, effect }) => `  ${name.padEnd(24)} ${effect >= 0 ? '+' : ''}${effect.toFixed(2)}`,
    ),
    ...profiles.flatMap(profileLines),
  ]
  return { data: explanation, text: text.join('\n') }
}

const NO_MODELS = 'no model: no provider key is in the environment (--all shows the whole catalog)'

function profileLines({
  profile,
  pointUsd,
  candidates,
  excluded,
  stay,
}: AutoExplanation['profiles'][number]): string[] {
  const heading = `${profile}: ${pointUsd} USD per point of quality and 1,000 calls`
  if (candidates.length === 0) return ['', heading, `  ${NO_MODELS}`]
  return [
    '',
    heading,
    ...candidates.map((candidate) => `  ${candidateText(candidate)}`),
    ...excluded.map((candidate) => `  not tried: ${candidateText(candidate)}: ${candidate.reason}`),
    ...(stay ? [stayLine(stay)] : []),
  ]
}

type Candidate = AutoExplanation['profiles'][number]['candidates'][number]

const candidateText = ({ model, quality, basis, tokens, usdPer1000, value }: Candidate): string =>
  `${model.padEnd(40)} quality ${quality.toFixed(3)} (${basis})  ${tokens} tokens, ${usdPer1000.toFixed(3)} USD per 1,000  value ${value.toFixed(2)}`

function stayLine(stay: NonNullable<AutoExplanation['profiles'][number]['stay']>): string {
  const { model, best, stays, gainedPoints, savedPoints, savedUsdPer1000 } = stay
  if (model === best) return `  stays on ${model}, the model of the best value`
  const cost = `costs ${savedPoints.toFixed(2)} (cached input, ${savedUsdPer1000.toFixed(3)} USD per 1,000)`
  return `  ${stays ? `stays on ${model}` : `leaves ${model}`}: ${best} gains ${gainedPoints.toFixed(2)} points, leaving ${cost}`
}

/** The catalog as if every offer were available. */
function withEveryKey(catalog: CatalogSnapshot): CatalogSnapshot {
  const models = [...catalog.models.values()]
    .filter((model) => model.auto)
    .map((model) => ({ ...model, offers: model.offers.map((offer) => ({ ...offer, shared: true })) }))
  return { ...catalog, autoLadder: models.sort(compareByPrice) }
}

await runAsProcess(router)
