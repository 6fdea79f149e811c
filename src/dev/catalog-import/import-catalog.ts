/**
 * Development tool: writes src/catalog/data/builtin.json from two public data sets, deterministically.
 *
 *   npm pack @earendil-works/pi-ai@1.5.2 && tar xzf earendil-works-pi-ai-1.5.2.tgz
 *   node src/dev/catalog-import/import-catalog.ts --pi-ai package --day 2026-11-20
 *
 * genai-prices is a development dependency; pi-ai is read from a folder, since only its data is wanted and
 * it depends on the client libraries of many makers.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { CatalogDocument } from '../../core/catalog-document.ts'
import { mergeOffers } from './merge-offers.ts'
import { IMPORTED_PROVIDERS } from './provider-table.ts'
import { readOffers, readOpenWeights } from './read-sources.ts'

const OUTPUT = new URL('../../catalog/data/builtin.json', import.meta.url)
const GENAI_PRICES = new URL('../../../node_modules/@pydantic/genai-prices/package.json', import.meta.url)

const { values } = parseArgs({ options: { 'pi-ai': { type: 'string' }, day: { type: 'string' } } })
const folder = values['pi-ai']
const { day } = values
if (!folder || !day || !/^\d{4}-\d{2}-\d{2}$/.test(day)) {
  console.error('usage: import-catalog.ts --pi-ai FOLDER --day YYYY-MM-DD')
  process.exit(1)
}

const versionOf = (path: string | URL): string => JSON.parse(readFileSync(path, 'utf8')).version
const document: CatalogDocument = {
  source:
    `List prices on which @pydantic/genai-prices ${versionOf(GENAI_PRICES)} and ` +
    `@earendil-works/pi-ai ${versionOf(join(folder, 'package.json'))} (both MIT) agree; ` +
    'windows and modalities from the latter. Written by src/dev/catalog-import/import-catalog.ts.',
  dated: day,
  providers: IMPORTED_PROVIDERS.map(({ provider }) => provider),
  models: mergeOffers(readOffers(folder, day), readOpenWeights(folder)),
}
writeFileSync(OUTPUT, `${JSON.stringify(document, null, 1)}\n`)
console.log(`${document.models?.length} models of ${document.providers?.length} providers`)
