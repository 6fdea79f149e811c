import type { ModelQualityView } from '../../core/api/models.ts'
import { abilitiesOf } from '../../core/auto/model-quality.ts'
import type { TaskKind } from '../../core/auto/quality-figure.ts'
import type { CatalogSnapshot, Model } from '../../core/catalog/catalog.ts'

/** The kinds that public tests measure. */
const TESTED_KINDS = ['other', 'code', 'formulas', 'chat', 'agentic'] as const satisfies readonly TaskKind[]

/**
 * How well a model does a kind of task, as `auto` counts it: from its own published figures or those of the version
 * before it. A model that `auto` does not use has its figure as it was published. Null where nothing is published, so that
 * only the price or the maker would speak for it.
 */
export function publishedQuality(
  { autoLadder }: Pick<CatalogSnapshot, 'autoLadder'>,
  model: Model,
  kind: TaskKind,
): ModelQualityView | null {
  const figure = model.quality?.[kind]
  const ability = abilitiesOf(autoLadder).get(model)?.[kind]
  if (!ability)
    return figure
      ? { ...figureView(figure.value, figure.standardError), basis: 'measured', source: figure.source }
      : null
  const { basis } = ability
  if (basis === 'price' || basis === 'relative') return null
  const value = 1 / (1 + Math.exp(-ability.value))
  // The error of the log-odds times the slope of the logistic there.
  const error = value * (1 - value) * ability.standardError
  return { ...figureView(value, error), basis, source: figure?.source ?? null }
}

/** The same for each kind that has a figure. */
export const qualityByKind = (catalog: Pick<CatalogSnapshot, 'autoLadder'>, model: Model) =>
  TESTED_KINDS.flatMap((kind) => {
    const quality = publishedQuality(catalog, model, kind)
    return quality ? [{ kind, ...quality }] : []
  })

const figureView = (value: number, error: number) => ({
  value: Number(value.toFixed(3)),
  standard_error: Number(error.toFixed(3)),
})
