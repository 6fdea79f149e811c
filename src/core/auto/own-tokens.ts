import type { Model } from '../catalog/catalog.ts'
import { expectedTokens } from './output-tokens.ts'
import type { TaskKind } from './quality-figure.ts'
import type { CompletionTokens } from './task-tokens.ts'

/** Tokens of a completion as this gateway's own calls take them, by model id and kind. */
export type OwnTokens = Readonly<Record<string, CompletionTokens>>

/** Calls may move the published estimate this many times up or down. */
const MOST_TIMES = 4
/** Smaller changes keep the figure that is in use, so that a few accounts among many change neither it nor the catalog. */
const LEAST_CHANGE = 1.25

/** The figures to use: the measured ones within the bounds of the estimate without them, or the ones in use. Pure. */
export function ownTokens(
  measured: ReadonlyArray<{ model: string; kind: TaskKind; tokens: number }>,
  inUse: OwnTokens,
  models: readonly Model[],
): OwnTokens {
  const plain = models.map(({ completionTokens: _measured, ...model }): Model => model)
  const estimate = expectedTokens(plain)
  const places = new Map(plain.map(({ id }, index) => [id, index]))
  const found: Record<string, CompletionTokens> = {}
  for (const { model, kind, tokens } of measured) {
    const place = places.get(model)
    if (place === undefined) continue
    const usual = estimate(kind)[place]!
    const bounded = Math.round(Math.min(usual * MOST_TIMES, Math.max(usual / MOST_TIMES, tokens)))
    const last = inUse[model]?.[kind]
    const isLast = last !== undefined && Math.max(last, bounded) < LEAST_CHANGE * Math.min(last, bounded)
    found[model] = { ...found[model], [kind]: isLast ? last : bounded }
  }
  return found
}
