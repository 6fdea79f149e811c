import type { DocumentModel } from '../../src/core/catalog/catalog-document.ts'
import { type Evidence, FACTS, type ParameterSource, type PublicParameters } from './public-parameters.ts'

/** A fact about a model that at least one public source states otherwise than the catalog. */
export interface ParameterDifference {
  model: string
  fact: (typeof FACTS)[number]
  catalog: boolean
  /** What each source states. */
  stated: { [Source in ParameterSource]?: boolean }
}

/** Where public sources and the catalog differ, in the catalog's order. */
export function parameterDifferences(
  models: readonly DocumentModel[],
  evidence: PublicParameters['models'],
): ParameterDifference[] {
  return models.flatMap((model) =>
    FACTS.flatMap((fact) => {
      const stated = statedBy(evidence[model.id] ?? {}, fact)
      const catalog = catalogFact(model, fact)
      return Object.values(stated).every((value) => value === catalog)
        ? []
        : [{ model: model.id, fact, catalog, stated }]
    }),
  )
}

/**
 * Whether a difference is an error of the catalog: both sources state the same. Only schemas are evidence about
 * `response_format`, and a model without them may take JSON mode, so it is never removed. `temperature` is never added:
 * it would be sent, and a model that takes it may reject it while it thinks, or together with `top_p`.
 */
export const isClear = ({ fact, catalog, stated }: ParameterDifference): boolean =>
  stated.litellm === !catalog &&
  stated['models.dev'] === !catalog &&
  fact !== (catalog ? 'response_format' : 'temperature')

/** The models with the clear differences corrected. */
export function correctedModels(
  models: readonly DocumentModel[],
  evidence: PublicParameters['models'],
): DocumentModel[] {
  const clear = Map.groupBy(parameterDifferences(models, evidence).filter(isClear), ({ model }) => model)
  return models.map((model) => (clear.get(model.id) ?? []).reduce(correct, model))
}

function correct(model: DocumentModel, { fact, catalog }: ParameterDifference): DocumentModel {
  if (fact === 'reasoning') return { ...model, reasoning: !catalog }
  const changed = fact === 'temperature' ? ['temperature', 'top_p'] : [fact]
  const kept = (model.supported_parameters ?? []).filter((name) => !changed.includes(name))
  const all = catalog ? kept : [...kept, ...changed]
  return { ...model, supported_parameters: ORDER.filter((name) => all.includes(name)) }
}

/** The order of the names in the catalog. */
const ORDER = ['tools', 'response_format', 'temperature', 'top_p']

/** One line of the report: `gpt-5.1: temperature is not listed; models.dev: true`. */
export function differenceLine({ model, fact, catalog, stated }: ParameterDifference): string {
  const sources = Object.entries(stated).map(([source, value]) => `${source}: ${value}`)
  return `${model}: ${fact} is ${catalog ? 'listed' : 'not listed'}; ${sources.join(', ')}`
}

function statedBy({ litellm, 'models.dev': modelsDev }: Evidence, fact: (typeof FACTS)[number]) {
  return {
    ...(litellm?.[fact] !== undefined && { litellm: litellm[fact] }),
    ...(modelsDev?.[fact] !== undefined && { 'models.dev': modelsDev[fact] }),
  }
}

const catalogFact = (model: DocumentModel, fact: (typeof FACTS)[number]): boolean =>
  fact === 'reasoning' ? model.reasoning === true : model.supported_parameters?.includes(fact) === true
