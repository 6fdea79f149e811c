import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import builtin from '../../src/catalog/data/builtin.json' with { type: 'json' }
import {
  factsByModel,
  type PublicParameters,
  readLitellmParameters,
  readModelsDev,
} from './public-parameters.ts'

/**
 * Development tool: writes public-parameters.json, what two public sources state about the parameters of the models of
 * builtin.json, deterministically. models.dev has no package; opencode's program contains a copy.
 *
 *   pip download litellm==1.109.1 --no-deps && unzip litellm-*.whl 'litellm/model_prices*'
 *   npm pack opencode-linux-x64@1.18.33 && tar xzf opencode-linux-x64-1.18.33.tgz
 *   node tools/catalog-import/import-parameters.ts --litellm litellm --litellm-version 1.109.1 \
 *     --opencode package --day 2026-11-20
 *
 * Then import-catalog.ts compares and corrects the catalog.
 */

const OUTPUT = new URL('public-parameters.json', import.meta.url)

const { values } = parseArgs({
  options: {
    litellm: { type: 'string' },
    'litellm-version': { type: 'string' },
    opencode: { type: 'string' },
    day: { type: 'string' },
  },
})
const { litellm: litellmFolder, 'litellm-version': litellmVersion, opencode: opencodeFolder, day } = values
if (!litellmFolder || !litellmVersion || !opencodeFolder || !day || !/^\d{4}-\d{2}-\d{2}$/.test(day)) {
  console.error(
    'usage: import-parameters.ts --litellm FOLDER --litellm-version VERSION --opencode FOLDER --day YYYY-MM-DD',
  )
  process.exit(1)
}

const table = readFileSync(join(litellmFolder, 'model_prices_and_context_window_backup.json'), 'utf8')
const program = readFileSync(join(opencodeFolder, 'bin', 'opencode'), 'latin1')
const { version } = JSON.parse(readFileSync(join(opencodeFolder, 'package.json'), 'utf8')) as {
  version: string
}
const changes = [...program.matchAll(/,last_updated:"(\d{4}-\d{2}-\d{2})"/g)].map(([, date = '']) => date)

const sources: PublicParameters['sources'] = {
  litellm: { origin: `litellm ${litellmVersion} (PyPI)`, licence: 'MIT', dated: day },
  // The newest entry is as old as the copy, at most.
  'models.dev': {
    origin: `models.dev, in opencode-linux-x64 ${version} (npm)`,
    licence: 'MIT',
    dated: changes.reduce((newest, date) => (date > newest ? date : newest), ''),
  },
}
const litellm = factsByModel(readLitellmParameters(table))
const modelsDev = factsByModel(readModelsDev(program))
const models = builtin.models.flatMap(({ id }) => {
  const found = Object.entries({ litellm: litellm(id), 'models.dev': modelsDev(id) })
  const stated = found.filter(([, facts]) => Object.keys(facts).length > 0)
  return stated.length === 0 ? [] : [` ${JSON.stringify(id)}: ${JSON.stringify(Object.fromEntries(stated))}`]
})
writeFileSync(OUTPUT, `{"sources": ${JSON.stringify(sources)},\n"models": {\n${models.join(',\n')}\n}}\n`)
console.log(JSON.stringify({ models: builtin.models.length, stated: models.length }))
