import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { CatalogDocument } from '../../src/core/catalog/catalog-document.ts'
import { canonicalId } from './canonical-id.ts'
import { correctedModels, differenceLine, isClear, parameterDifferences } from './compare-parameters.ts'
import { mergeModels } from './merge-models.ts'
import { printDocument } from './print-document.ts'
import { IMPORTED_PROVIDERS } from './provider-table.ts'
import type { PublicParameters } from './public-parameters.ts'
import { readGenaiWindows, readRoutedModels } from './read-genai-prices.ts'
import { type Litellm, openLitellm } from './read-litellm.ts'
import { readOffers } from './read-offers.ts'
import { readPiAiWindows, readRouterNames } from './read-pi-ai.ts'
import { releaseDates } from './release-dates.ts'

/**
 * Development tool: writes src/catalog/data/builtin.json from three public data packages, deterministically, and
 * prints where its lists of parameters differ from public-parameters.json (written by import-parameters.ts).
 *
 *   npm pack @earendil-works/pi-ai@1.5.2 && tar xzf earendil-works-pi-ai-1.5.2.tgz
 *   pip download litellm==1.109.1 --no-deps && unzip litellm-*.whl 'litellm/model_prices*' 'litellm-*.dist-info/*'
 *   node tools/catalog-import/import-catalog.ts --pi-ai package --litellm litellm --litellm-version 1.109.1 \
 *     --day 2026-11-20
 *
 * genai-prices is a development dependency; of the others only the data is wanted, so they are read from
 * folders.
 */

const OUTPUT = new URL('../../src/catalog/data/builtin.json', import.meta.url)
const PUBLIC_PARAMETERS = new URL('public-parameters.json', import.meta.url)
const GENAI_PRICES = new URL('../../node_modules/@pydantic/genai-prices/package.json', import.meta.url)

/** Families whose weights are published, for models that the router does not list. */
const OPEN_FAMILIES = new RegExp(
  [
    'openai/gpt-oss|google/gemma|meta-llama/llama|microsoft/(phi|wizardlm)|nvidia/|nousresearch/|allenai/|ibm-granite/',
    'deepseek/deepseek-(v|r|chat|coder)|moonshotai/kimi-k2|minimax/minimax-(m[12]|01)|z-ai/glm-(4|5)(\\.\\d)?(-air)?$',
    'mistralai/(mixtral|mistral-(7b|nemo|small)|devstral-small|magistral-small|ministral|open-)',
    'qwen/(qwq|qvq|qwen-?[\\d.]+-(\\d|coder-\\d|vl-\\d|next|omni-\\d))|sao10k/|thedrummer/|neversleep/|gryphe/|undi95/|eva-unit',
    'anthracite|cognitivecomputations/|01-ai/yi-\\d|tencent/hunyuan-a|baidu/ernie-4.5-\\d|stepfun/step-3|xiaomi/mimo-v2',
  ].join('|'),
)

/** Providers of genai-prices whose model names identify the vendor. */
const GENAI_PROVIDERS = [
  'openai',
  'anthropic',
  'google',
  'mistral',
  'x-ai',
  'azure',
  'avian',
  'ovhcloud',
  'cohere',
  'groq',
]

const { values } = parseArgs({
  options: {
    'pi-ai': { type: 'string' },
    litellm: { type: 'string' },
    'litellm-version': { type: 'string' },
    day: { type: 'string' },
  },
})
const { 'pi-ai': piAiFolder, litellm: litellmFolder, 'litellm-version': litellmVersion, day } = values
if (!piAiFolder || !litellmFolder || !litellmVersion || !day || !/^\d{4}-\d{2}-\d{2}$/.test(day)) {
  console.error(
    'usage: import-catalog.ts --pi-ai FOLDER --litellm FOLDER --litellm-version VERSION --day YYYY-MM-DD',
  )
  process.exit(1)
}

const versionOf = (path: string | URL): string => JSON.parse(readFileSync(path, 'utf8')).version
const litellm = openLitellm(litellmFolder, day)
const offers = readOffers({ piAiFolder, litellm, day })
const { models: merged, leftOut } = mergeModels(
  offers,
  openWeightsTest(piAiFolder),
  windowsElsewhere(piAiFolder, litellm),
  releaseDates([...readPiAiWindows(piAiFolder).map(({ name }) => name), ...litellm.names]),
)
const { models: evidence } = JSON.parse(readFileSync(PUBLIC_PARAMETERS, 'utf8')) as PublicParameters
const models = correctedModels(merged, evidence)
const document: CatalogDocument = {
  source:
    `Public list prices, windows and limits from @earendil-works/pi-ai ${versionOf(join(piAiFolder, 'package.json'))}, ` +
    `litellm ${litellmVersion} and @pydantic/genai-prices ${versionOf(GENAI_PRICES)} (all MIT). A list price is the ` +
    "maker's own; without one, the median of the hosts'. Written by tools/catalog-import/import-catalog.ts; " +
    'the rules are in docs/catalog.md.',
  dated: day,
  providers: IMPORTED_PROVIDERS.map(({ provider }) => provider),
  models,
}
writeFileSync(OUTPUT, printDocument(document))
console.log(JSON.stringify({ models: models.length, leftOut }, null, 2))
const differences = Map.groupBy(parameterDifferences(merged, evidence), isClear)
for (const [clear, all] of differences) {
  console.log(`\n${all.length} parameters ${clear ? 'corrected' : 'left as they are'}:`)
  console.log(all.map(differenceLine).join('\n'))
}

/** Tests whether a model's weights are open: the router of open weights lists it, or its family's are. */
function openWeightsTest(piAiFolder: string): (key: string, id: string) => boolean {
  const names = [...readRouterNames(piAiFolder), ...readRoutedModels().map(({ model }) => model.id)]
  const keys = new Set(names.flatMap((name) => canonicalId(null, name)?.key ?? []))
  return (key, id) => keys.has(key) || OPEN_FAMILIES.test(id)
}

/**
 * Context windows that any provider in the data gives for a model, also one that is not in our table: a model's
 * window does not depend on the provider.
 */
function windowsElsewhere(piAiFolder: string, litellm: Litellm): (key: string) => number[] {
  const known = [...readPiAiWindows(piAiFolder), ...litellm.windows, ...readGenaiWindows(GENAI_PROVIDERS)]
  const byKey = Map.groupBy(known, ({ name }) => canonicalId(null, name)?.key)
  return (key) => (byKey.get(key) ?? []).map(({ window }) => window)
}
