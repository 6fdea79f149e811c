import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { publicFigures } from './public-quality.ts'

const OUTPUT = join(import.meta.dirname, '../../src/catalog/data/model-quality.json')

/** `npm run router:quality`: writes the catalog document with the published quality of models. The same results give the same file. */
function main(): void {
  const listed = publicFigures().filter(({ isListed }) => isListed)
  const models = [...Map.groupBy(listed, ({ model }) => model)]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([id, figures]) => {
      const quality = figures.map(({ kind, value, standard_error, source, date }) => [
        kind,
        { value, standard_error, source, date },
      ])
      return JSON.stringify({ id, quality: Object.fromEntries(quality) })
    })
  const source = JSON.stringify(
    'LiveBench, restated in tools/router-training/public-results; docs/auto-routing.md',
  )
  writeFileSync(OUTPUT, `{\n"source": ${source},\n"changes": {"models": [\n${models.join(',\n')}\n]}\n}\n`)
  console.log(`${models.length} models; ${OUTPUT} written`)
}

main()
