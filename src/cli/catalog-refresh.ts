import { readFile, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { readPublicSource } from '../catalog/read-public-source.ts'
import type { CatalogDocument } from '../core/catalog/catalog-document.ts'
import { printDocument } from '../core/catalog/print-document.ts'
import {
  PUBLIC_SOURCES,
  type PublicEntry,
  type PublicSource,
  readPublicListing,
} from '../core/catalog/public-listings.ts'
import {
  type CatalogRefresh,
  editsWithRefresh,
  type PublicDifference,
  refreshCatalog,
  withRefresh,
} from '../core/catalog/refresh-catalog.ts'
import { DAY_MS, isoDay } from '../core/kernel/time.ts'
import { readEdits, replaceEdits } from './catalog-edits.ts'
import type { CommandOutput } from './run-command.ts'

const BUILT_IN = new URL('../catalog/data/builtin.json', import.meta.url)

/** Where the lists are published. */
const ADDRESSES: Record<PublicSource, string> = {
  'models.dev': 'https://models.dev/api.json',
  litellm: 'https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json',
  openrouter: 'https://openrouter.ai/api/v1/models',
}

export interface RefreshFlags {
  /** Files or addresses to read instead of the published ones. */
  sources: Readonly<Record<PublicSource, string | undefined>>
  apply: boolean
  /** Writes the built-in catalog instead of the operators' edits. */
  builtin: boolean
}

/** `catalog refresh`: what public lists state otherwise than the catalog, and with `--apply` makes it the catalog's. */
export async function refresh(flags: RefreshFlags, environment: NodeJS.ProcessEnv): Promise<CommandOutput> {
  const today = isoDay(Math.floor(Date.now() / DAY_MS))
  const { entries, failures } = await readLists(flags, environment, today)
  const builtIn = JSON.parse(await readFile(BUILT_IN, 'utf8')) as CatalogDocument
  const edits = flags.builtin ? null : await readEdits(environment)
  const content = (edits?.content ?? {}) as CatalogDocument
  const { models: added = [], changes = {} } = content
  const current = withRefresh(
    builtIn,
    { added, addedOffers: [], changes: { models: changes.models ?? [], offers: changes.offers ?? [] } },
    today,
  )
  const found = refreshCatalog(current, entries)
  const applied =
    flags.apply && hasChanges(found, flags.builtin)
      ? await apply(flags, environment, found, { builtIn, edits, today })
      : null
  return {
    data: {
      differences: found.differences,
      added: found.added.map(({ id }) => id),
      added_offers: found.addedOffers.map(({ model, offer }) => `${model} at ${offer.provider}`),
      not_read: failures,
      applied,
    },
    text: [...failures, ...table(found.differences), ...summary(found, applied)].join('\n'),
  }
}

async function readLists({ sources }: RefreshFlags, environment: NodeJS.ProcessEnv, today: string) {
  const read = await Promise.allSettled(
    PUBLIC_SOURCES.map(async (source) => {
      const given = sources[source]
      const isFile = given !== undefined && !/^[a-z]+:\/\//i.test(given)
      // npm runs scripts in the project's folder; paths are relative to the caller's.
      const location = isFile ? resolve(environment.INIT_CWD ?? '', given) : (given ?? ADDRESSES[source])
      return readPublicListing(source, await readPublicSource(location), today)
    }),
  )
  const entries = read.flatMap((one): PublicEntry[] => (one.status === 'fulfilled' ? one.value : []))
  const failures = read.flatMap((one) => (one.status === 'rejected' ? [(one.reason as Error).message] : []))
  if (PUBLIC_SOURCES.length - failures.length < 2)
    throw new Error(`Two lists have to agree, and fewer were read:\n  ${failures.join('\n  ')}`)
  return { entries, failures }
}

/** A document of changes cannot add offers to a model, so only the built-in catalog gets them. */
const hasChanges = ({ changes, added, addedOffers }: CatalogRefresh, builtin: boolean): boolean =>
  changes.models.length + changes.offers.length + added.length + (builtin ? addedOffers.length : 0) > 0

async function apply(
  { builtin }: RefreshFlags,
  environment: NodeJS.ProcessEnv,
  found: CatalogRefresh,
  {
    builtIn,
    edits,
    today,
  }: { builtIn: CatalogDocument; edits: Awaited<ReturnType<typeof readEdits>>; today: string },
): Promise<string> {
  if (builtin) {
    await writeFile(BUILT_IN, printDocument(withRefresh(builtIn, found, today)))
    return 'the built-in catalog'
  }
  const document = editsWithRefresh((edits?.content ?? {}) as CatalogDocument, found)
  const version = await replaceEdits(document, edits?.version ?? null, environment)
  return `edits ${version}`
}

function table(differences: readonly PublicDifference[]): string[] {
  const rows = differences.map(({ subject, field, catalog, stated, agreed }) => [
    subject,
    field,
    catalog,
    agreed ?? 'no two agree',
    stated.join(', '),
  ])
  const heading = ['', 'field', 'catalog', 'agreed', 'stated']
  const widths = heading.map((cell, column) =>
    Math.max(cell.length, ...rows.map((row) => row[column]!.length)),
  )
  const line = (row: string[]) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd()
  return rows.length > 0 ? [heading, ...rows].map(line) : []
}

function summary({ differences, added, addedOffers }: CatalogRefresh, applied: string | null): string[] {
  const agreed = differences.filter((one) => one.agreed !== null).length
  const count = `${agreed} values differ and two lists agree, ${differences.length - agreed} differ and none agree.`
  const models = added.length > 0 ? [`New models: ${added.map(({ id }) => id).join(', ')}.`] : []
  const offers = addedOffers.length > 0 ? [`${addedOffers.length} new offers; --builtin adds them.`] : []
  const end =
    applied === null
      ? "Nothing was changed; --apply makes the agreed values the catalog's."
      : `Applied: ${applied}.`
  return [count, ...models, ...offers, end]
}
