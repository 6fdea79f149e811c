import { AUTO_MODEL, type AutoDecision } from '../auto/routing-profiles.ts'
import type { AutoPrompt, CallNeeds } from '../calls/kinds/call-kind.ts'
import type { Sort } from '../calls/provider-preferences.ts'
import { type CatalogSnapshot, findByWireName, findModel, type Model } from '../catalog/catalog.ts'
import { type AllowList, allowsModel } from './allow-list.ts'
import { isAllowed, type OfferFilter } from './offer-preferences.ts'
import { modelNotAllowed, modelNotFound } from './plan-refusal.ts'

/**
 * Chooses the models for a request to `auto`, best first; none if the catalog has none. `isUsable` returns whether a
 * model satisfies the request's preferences, `isPermitted` whether the client's key may use it.
 */
export type ChooseAutoModels = (
  prompt: AutoPrompt,
  needs: CallNeeds,
  catalog: CatalogSnapshot,
  isUsable: (model: Model) => boolean,
  isPermitted: (model: Model) => boolean,
) => AutoDecision & { models: readonly Model[]; exactTools: boolean }

/** What the choice of models depends on besides the call. */
export interface ModelChoiceOptions {
  chooseAutoModels: ChooseAutoModels
  /** Models and providers that the key may use. Absent: all. */
  allowList?: AllowList | undefined
}

/** One model to try, for one name of the request. */
export interface PlanEntry {
  /** As the client spelled it. */
  name: string
  model: Model
  sort: Sort | undefined
  exactTools: boolean
}

const SUFFIXES: Record<string, Pick<PlanEntry, 'sort' | 'exactTools'>> = {
  nitro: { sort: 'throughput', exactTools: false },
  floor: { sort: 'price', exactTools: false },
  exacto: { sort: undefined, exactTools: true },
}

interface ResolvedName {
  entries: PlanEntry[]
  auto?: AutoDecision
  /** The requested name, if the client's key may not use its model. */
  refused?: string
}

/**
 * The models of a request's names, in their order. Throws ApiError `not_permitted` or `model_not_found` if there are
 * none.
 */
export function resolveModels(
  names: readonly string[],
  needs: CallNeeds,
  filter: OfferFilter,
  catalog: CatalogSnapshot,
  options: ModelChoiceOptions,
): { entries: PlanEntry[]; auto: AutoDecision | undefined } {
  const resolved = names.map((name) => resolveName(name, needs, filter, catalog, options))
  const entries = resolved.flatMap((one) => one.entries)
  if (entries.length > 0) return { entries, auto: resolved.find((one) => one.auto)?.auto }
  const refused = resolved.flatMap((one) => one.refused ?? [])
  throw refused.length > 0
    ? modelNotAllowed(refused)
    : modelNotFound(names, Object.keys(SUFFIXES), catalog, needs.modelKind)
}

/** The models of one requested name: one model, or those that `auto` chooses. Empty for an unknown name. */
function resolveName(
  name: string,
  needs: CallNeeds,
  filter: OfferFilter,
  catalog: CatalogSnapshot,
  { chooseAutoModels, allowList }: ModelChoiceOptions,
): ResolvedName {
  const { modelKind } = needs
  const isPermitted = (model: Model) => allowList === undefined || allowsModel(allowList, model)
  const entryOf = (
    models: readonly Model[],
    preference: Pick<PlanEntry, 'sort' | 'exactTools'>,
  ): ResolvedName => {
    const entries = models.filter(isPermitted).map((model) => ({ name, model, ...preference }))
    return { entries, ...(models.length > entries.length && { refused: name }) }
  }
  const find = (id: string): readonly Model[] | null => {
    const aliased = catalog.aliases?.get(id)
    if (aliased) return aliased.filter(({ kind }) => kind === modelKind)
    const model =
      findModel(catalog, id, modelKind) ?? (needs.wire ? findByWireName(catalog, id, needs.wire) : null)
    return model && [model]
  }
  const whole = find(name)
  if (whole) return entryOf(whole, { sort: undefined, exactTools: false })
  const colon = name.lastIndexOf(':')
  const suffix = colon < 0 ? null : name.slice(colon + 1)
  const base = colon < 0 ? name : name.slice(0, colon)
  if (suffix !== null && !Object.hasOwn(SUFFIXES, suffix)) return { entries: [] }
  const preference = (suffix !== null && SUFFIXES[suffix]) || { sort: undefined, exactTools: false }
  if (base !== AUTO_MODEL || !needs.auto) return entryOf(find(base) ?? [], preference)
  const isUsable = (model: Model) =>
    model.offers.some((offer) => offer.shared && isAllowed(offer, model, filter, preference.exactTools))
  const choice = chooseAutoModels(needs.auto, needs, catalog, isUsable, isPermitted)
  const { models, score, profile, kind } = choice
  if (models.length === 0 && allowList?.models) return { entries: [], refused: name }
  const exactTools = preference.exactTools || choice.exactTools
  const entries = models.map((model) => ({ name, model, sort: preference.sort, exactTools }))
  return { entries, auto: { score, profile, kind } }
}
