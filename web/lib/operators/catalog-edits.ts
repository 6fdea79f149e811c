/** A catalog document as JSON; docs/catalog-file.schema.json is its schema, and the gateway checks it. */
export type CatalogContent = Record<string, unknown>

interface OfferName {
  provider: string
  upstream_model: string
}

type Change = Record<string, unknown>

/** Fields to set in a change; undefined takes one away. */
type Fields = Record<string, unknown>

/** The document with a change of one model; other changes stay as they are. */
export const withModelChange = (content: CatalogContent, id: string, fields: Fields): CatalogContent =>
  withChange(content, 'models', { id }, fields)

/** The document with a change of one offer, wherever models have it. */
export const withOfferChange = (
  content: CatalogContent,
  { provider, upstream_model }: OfferName,
  fields: Fields,
): CatalogContent => withChange(content, 'offers', { provider, upstream_model }, fields)

/** The document with a change of one provider. */
export const withProviderChange = (content: CatalogContent, id: string, fields: Fields): CatalogContent =>
  withChange(content, 'providers', { id }, fields)

/** The change of one provider in the document. */
export const providerChange = (content: CatalogContent, id: string): Change | undefined =>
  changesOf(content, 'providers').find((change) => change.id === id)

/** The ids of the providers that the document disables. */
export const disabledProviders = (content: CatalogContent): string[] =>
  changesOf(content, 'providers').flatMap(({ id, disabled }) =>
    disabled === true && typeof id === 'string' ? [id] : [],
  )

/** The change of one model in the document. */
export const modelChange = (content: CatalogContent, id: string): Change | undefined =>
  changesOf(content, 'models').find((change) => change.id === id)

/** The change of one offer in the document. */
export const offerChange = (content: CatalogContent, name: OfferName): Change | undefined =>
  changesOf(content, 'offers').find((change) => isNamed(change, { ...name }))

function withChange(content: CatalogContent, list: string, name: Change, fields: Fields): CatalogContent {
  const before = changesOf(content, list)
  const old = before.find((change) => isNamed(change, name))
  const changed = withoutUndefined({ ...name, ...old, ...fields })
  // What only has its name changes nothing.
  const isEmpty = Object.keys(changed).length === Object.keys(name).length
  const after = old
    ? before.flatMap((change) => (change === old ? (isEmpty ? [] : [changed]) : [change]))
    : isEmpty
      ? before
      : [...before, changed]
  const { [list]: _, ...others } = objectOf(content.changes)
  const changes = after.length > 0 ? { ...others, [list]: after } : others
  const { changes: __, ...rest } = content
  return Object.keys(changes).length > 0 ? { ...rest, changes } : rest
}

const changesOf = (content: CatalogContent, list: string): Change[] => {
  const found = objectOf(content.changes)[list]
  return Array.isArray(found) ? (found as Change[]) : []
}

const isNamed = (change: Change, name: Change): boolean =>
  Object.entries(name).every(([field, value]) => change[field] === value)

const objectOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {}

const withoutUndefined = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

/** The document as pages show it. */
export const writeDocument = (content: CatalogContent): string => JSON.stringify(content, null, 2)

const RATE = /^\d{1,6}(\.\d{1,6})?$/

/** What is wrong with a rate in USD per million tokens; null when nothing is. */
export const rateProblem = (text: string): string | null =>
  RATE.test(text.trim()) ? null : 'Enter USD per million tokens with at most six decimals, such as 1.25.'
