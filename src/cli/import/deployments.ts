import type { Offer } from '../../core/catalog/catalog.ts'
import type { DocumentModel, DocumentProvider } from '../../core/catalog/catalog-document.ts'
import { isPlatformKeyVariable } from '../../core/catalog/platform-key-variables.ts'
import { formatRate } from '../../core/kernel/money.ts'
import type { KnownModels } from './known-models.ts'
import type { ImportOptions, Note, Translation } from './translation.ts'

/** A model at a provider under the name that clients of the source use. */
export interface Deployment {
  name: string
  provider: string
  /** What the provider calls the model. */
  model: string
  /** What the model is, where `model` is a name of the customer's own. */
  baseModel?: string | undefined
  baseUrl?: string | undefined
  /** The variable with the key; null: none is needed. Absent: the source has the key itself. */
  keyVariable?: string | null | undefined
  weight?: number | undefined
  /** USD per million tokens. */
  listPrice?: { prompt: string; completion: string } | undefined
  contextLength?: number | undefined
}

type Catalog = Translation['catalog']

interface WeightedOffer {
  what: string
  /** Undefined: it is no offer of the catalog. */
  offer: Offer | undefined
  weight: number | undefined
}

/** The part of a catalog that serves the deployments of a source, and the ids here of the source's names. */
export interface DeploymentCatalog {
  catalog: Catalog
  notes: Note[]
  /** The ids of a name of the source, or of a model of the catalog; empty: it has none. */
  idsOf(name: string): string[]
}

const UNKNOWN_CONTEXT = 32_768

/**
 * A deployment whose model the catalog knows becomes that model, with all of its providers; one at an address of its own
 * becomes a provider and a model. A name that is not the model's id becomes an alias; `fallbacks` follow in it.
 */
export function catalogOf(
  deployments: readonly Deployment[],
  fallbacks: ReadonlyMap<string, readonly string[]>,
  known: KnownModels,
  { keyNames }: Pick<ImportOptions, 'keyNames'>,
): DeploymentCatalog {
  const notes: Note[] = []
  const providers = new Map<string, DocumentProvider>()
  const models = new Map<string, DocumentModel>()
  const targets = new Map<string, string[]>()
  const weighted = new Map<string, WeightedOffer[]>()
  const weights = new Map<Offer, number>()
  for (const deployment of deployments) {
    const id = isOwnAddress(deployment, known) ? ownModel(deployment) : sharedModel(deployment)
    if (id !== null) targets.set(deployment.name, [...new Set([...(targets.get(deployment.name) ?? []), id])])
  }
  const idsOf = (name: string): string[] => {
    const found = targets.get(name) ?? known.find(name)?.id
    return found === undefined ? [] : [found].flat()
  }
  const names = new Set([...targets.keys(), ...fallbacks.keys()])
  const aliases = [...names].flatMap((name) => {
    const first = idsOf(name)
    const after = (fallbacks.get(name) ?? []).flatMap((other) => {
      const ids = idsOf(other)
      if (ids.length === 0)
        notes.push({ kind: 'lost', what: `fallback ${name} → ${other}`, text: 'no such model' })
      return ids
    })
    const ids = [...new Set([...first, ...after])]
    if (first.length === 0) return []
    if (first.length > 1)
      notes.push({
        kind: 'differs',
        what: `model ${name}`,
        text: `several models; ${first[0]} is always tried first`,
      })
    const what = `model ${name}`
    if (ids.length === 1 && ids[0] === name) {
      notes.push({ kind: 'same', what, text: 'is a model of the catalog' })
      return []
    }
    if (!/^[A-Za-z0-9][A-Za-z0-9._/@+-]{0,199}$/.test(name) || name === 'auto') {
      notes.push({ kind: 'lost', what, text: `cannot be a name here; ask for ${ids.join(', ')}` })
      return []
    }
    notes.push({ kind: 'same', what, text: `alias of ${ids.join(', then ')}` })
    return [{ id: name, models: ids }]
  })
  for (const [name, group] of weighted) addWeights(name, group)
  const offers = [...weights].map(([{ provider, upstreamModel }, weight]) => ({
    ...{ provider: provider.id, upstream_model: upstreamModel, weight },
  }))
  const catalog: Catalog = {
    ...(providers.size > 0 && { providers: [...providers.values()] }),
    ...(models.size > 0 && { models: [...models.values()] }),
    ...(aliases.length > 0 && { aliases }),
    ...(offers.length > 0 && { changes: { offers } }),
  }
  return { catalog, notes, idsOf }

  /** A model of the catalog, at every provider that has it. */
  function sharedModel({ name, provider, model, baseModel, keyVariable, weight }: Deployment): string | null {
    const what = `deployment ${name} (${provider}/${model})`
    const found = known.find(model, provider) ?? (baseModel === undefined ? null : known.find(baseModel))
    if (!found) {
      notes.push({ kind: 'lost', what, text: 'the catalog has no such model; add it with its price' })
      return null
    }
    const ours = known.provider(provider)
    if (!ours)
      notes.push({
        kind: 'differs',
        what,
        text: `${found.id} by other providers: ${provider} is not in the catalog`,
      })
    else if (keyVariable === undefined)
      notes.push({ kind: 'differs', what, text: `set its key, which the source holds, as ${ours.apiKeyEnv}` })
    else if (keyVariable !== ours.apiKeyEnv && keyVariable !== null)
      notes.push({ kind: 'differs', what, text: `set the value of ${keyVariable} as ${ours.apiKeyEnv}` })
    const offer = found.offers.find((one) => one.provider === ours)
    weighted.set(name, [...(weighted.get(name) ?? []), { what, offer, weight }])
    return found.id
  }

  /** The weights of a name's deployments as percentages of offers, where they are offers of one model and no other name's. */
  function addWeights(name: string, group: readonly WeightedOffer[]): void {
    const total = group.reduce((sum, { weight = 0 }) => sum + weight, 0)
    const shares = new Map(
      group.map(({ offer, weight = 0 }) => [offer, Math.round((1000 * weight) / total) / 10] as const),
    )
    const isOne = targets.get(name)?.length === 1 && shares.size === group.length && !shares.has(undefined)
    const isSame = ([offer, share]: [Offer | undefined, number]) => (weights.get(offer!) ?? share) === share
    if (total > 0 && isOne && [...shares].every(isSame))
      for (const [offer, share] of shares) weights.set(offer!, share)
    else
      for (const { what, weight } of group)
        if (weight !== undefined)
          notes.push({ kind: 'differs', what, text: 'its weight is left out: providers share by price' })
  }

  /** A model at a provider of the customer's own. */
  function ownModel(deployment: Deployment): string | null {
    const { name, provider, model, baseModel, keyVariable, listPrice, contextLength, weight } = deployment
    const isAzure = provider.startsWith('azure')
    const address = deployment.baseUrl!.replace(/\/+$/, '')
    const baseUrl = isAzure && !address.includes('/openai') ? `${address}/openai/v1` : address
    const url = new URL(baseUrl)
    const providerId = url.host
      .toLowerCase()
      .replace(/[^a-z0-9.-]/g, '-')
      .slice(0, 64)
    const what = `deployment ${name} (${provider}/${model} at ${url.host})`
    const variable =
      keyVariable === null
        ? null
        : keyVariable !== undefined && isPlatformKeyVariable(keyVariable)
          ? keyVariable
          : `${providerId.toUpperCase().replace(/\W/g, '_')}_API_KEY`
    if (variable !== null && !keyNames.includes(variable)) {
      notes.push({
        kind: 'lost',
        what,
        text: `set its key as ${variable}, name that in CATALOG_KEY_NAMES, and import again`,
      })
      return null
    }
    const kept = providers.get(providerId)
    if (kept && kept.base_url !== baseUrl) {
      notes.push({ kind: 'lost', what, text: `another address of ${url.host}; add it as a provider by hand` })
      return null
    }
    const anthropic = provider === 'anthropic' ? { wire: 'anthropic-messages' as const } : {}
    providers.set(providerId, {
      ...{ id: providerId, name: url.host, base_url: baseUrl, api_key_env: variable, ...anthropic },
      ...(isAzure && { quirks: { auth_header: 'api-key' } }),
    })
    const id = `${providerId}/${model.replace(/[^A-Za-z0-9._/@+-]/g, '-')}`
    const alike = known.find(baseModel ?? model)
    const price = listPrice ?? (alike ? ratesOf(alike.listPrice) : { prompt: '0', completion: '0' })
    const context = contextLength ?? alike?.contextLength ?? UNKNOWN_CONTEXT
    if (!listPrice && !alike)
      notes.push({ kind: 'differs', what, text: 'no price is known: its calls are free until it has one' })
    if (!contextLength && !alike)
      notes.push({ kind: 'differs', what, text: `no context window is known: ${UNKNOWN_CONTEXT} tokens` })
    models.set(id, {
      ...{ id, vendor: providerId, context_length: context, list_price: price },
      offers: [{ provider: providerId, upstream_model: model }],
    })
    weighted.set(name, [...(weighted.get(name) ?? []), { what, offer: undefined, weight }])
    return id
  }
}

/** Whether a deployment has an address that is not the provider's in the catalog. */
function isOwnAddress({ baseUrl, provider }: Deployment, known: KnownModels): boolean {
  if (baseUrl === undefined || !URL.canParse(baseUrl)) return false
  const ours = known.provider(provider)
  return !ours || new URL(ours.baseUrl).host !== new URL(baseUrl).host
}

const ratesOf = ({
  prompt,
  completion,
}: {
  prompt: Parameters<typeof formatRate>[0]
  completion: Parameters<typeof formatRate>[0]
}) => ({
  prompt: formatRate(prompt),
  completion: formatRate(completion),
})
