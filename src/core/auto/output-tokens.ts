import type { ReasoningEffort } from '../calls/request-parameters.ts'
import type { Model } from '../catalog/catalog.ts'
import { compareVersions, type ModelLine, modelLine } from './model-lines.ts'
import type { TaskKind } from './quality-figure.ts'
import { type TaskTokens, taskTokens } from './task-tokens.ts'

/** Tokens of an answer without its reasoning. `agentic` is one call of the many of a task. */
export const ANSWER_TOKENS: Record<TaskKind, number> = {
  code: 450,
  worded_options: 250,
  numeric_options: 350,
  word_problems: 250,
  formulas: 500,
  proofs: 800,
  chat: 350,
  extraction: 150,
  expertise: 500,
  agentic: 200,
  other: 350,
}

/**
 * Tokens of the reasoning before it, of a model that takes USUAL_TASK_TOKENS for a published task. Both tables are
 * fitted to measurements of single calls, which docs/auto-routing.md names.
 */
const REASONING_TOKENS: Record<TaskKind, number> = {
  code: 200,
  worded_options: 250,
  numeric_options: 400,
  word_problems: 250,
  formulas: 700,
  proofs: 1_000,
  chat: 60,
  extraction: 150,
  expertise: 300,
  agentic: 400,
  other: 300,
}
const USUAL_TASK_TOKENS = 10_000
/** The published tasks are long: a call's reasoning grows more slowly than theirs from model to model. */
const REASONING_POWER = 0.65

/** Where no model of the catalog is published. */
const UNKNOWN: TaskTokens = {
  defaultEffort: 'medium',
  byEffort: { medium: USUAL_TASK_TOKENS },
  source: 'none',
  date: '',
}

/** Expected tokens of a completion of each model of a ladder, by its index, for a kind and the effort that a call asks for. */
export function expectedTokens(
  models: readonly Model[],
): (kind: TaskKind, effort?: ReasoningEffort) => Float64Array {
  const known = taskTokensOf(models)
  const found = new Map<string, Float64Array>()
  return (kind, effort) => {
    const key = `${kind} ${effort}`
    let tokens = found.get(key)
    if (!tokens) {
      tokens = Float64Array.from(models, (model) => tokensOf(model, known.get(model)!, kind, effort))
      found.set(key, tokens)
    }
    return tokens
  }
}

/** What was measured or stated for the kind at the default effort, or else what the published tasks imply. */
function tokensOf(model: Model, tasks: TaskTokens, kind: TaskKind, effort?: ReasoningEffort): number {
  const estimate = (asked: ReasoningEffort) => {
    if (!model.reasoning) return ANSWER_TOKENS[kind]
    const share = (taskTokens(tasks, asked) / USUAL_TASK_TOKENS) ** REASONING_POWER
    return ANSWER_TOKENS[kind] + REASONING_TOKENS[kind] * share
  }
  const usual = estimate(tasks.defaultEffort)
  const stated = model.completionTokens?.[kind] ?? usual
  return effort === undefined ? stated : stated * (estimate(effort) / usual)
}

/**
 * A model that is not published takes the tokens of a relative: of the newest published one of its line that is not
 * newer, else of its line's oldest, else of the median of its maker's, or of all.
 */
function taskTokensOf(models: readonly Model[]): ReadonlyMap<Model, TaskTokens> {
  const named = models.map((model): Named => ({ model, ...modelLine(model.id, model.vendor) }))
  const published = named.filter(({ model }) => model.outputTokens?.byEffort !== undefined)
  const ofLines = Map.groupBy(published, lineOf)
  for (const line of ofLines.values()) line.sort((a, b) => compareVersions(a.version, b.version))
  const ofMakers = Map.groupBy(published, ({ model }) => model.vendor)
  const medians = new Map([...ofMakers].map(([vendor, theirs]) => [vendor, median(theirs)]))
  const ofAll = published.length > 0 ? median(published) : UNKNOWN
  const relativeOf = (one: Named): TaskTokens => {
    const line = ofLines.get(lineOf(one)) ?? []
    const before = line.findLast((other) => compareVersions(other.version, one.version) <= 0)
    return (before ?? line[0])?.model.outputTokens ?? medians.get(one.model.vendor) ?? ofAll
  }
  return new Map(
    named.map((one) => {
      const own = one.model.outputTokens
      return [one.model, own?.byEffort ? own : { ...relativeOf(one), ...own }]
    }),
  )
}

type Named = ModelLine & { model: Model }

const lineOf = ({ model, line }: Named): string => `${model.vendor}/${line}`

/** The middle one of some published models by their tokens at the default effort; of two the larger. */
function median(published: readonly Named[]): TaskTokens {
  const tokens = published.map(({ model }) => model.outputTokens!)
  const usual = (one: TaskTokens) => taskTokens(one, one.defaultEffort)
  return tokens.sort((a, b) => usual(a) - usual(b))[tokens.length >> 1]!
}
