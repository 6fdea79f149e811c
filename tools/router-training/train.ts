import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { WeightsDocument } from '../../src/core/auto/difficulty/score-turns.ts'
import { readExamples } from './router-rows.ts'
import { trainModel } from './train-model.ts'
import { readWordVectors } from './word-vectors.ts'

const USAGE = 'Usage: npm run router:train -- ROWS.jsonl[.gz] VECTORS [--out WEIGHTS.json]'
const SHIPPED = join(import.meta.dirname, '../../src/core/auto/difficulty/difficulty-weights.json')
const SHOWN_DIGITS = 16

/** `npm run router:train -- ROWS VECTORS`: writes the weights that `auto` scores prompts with. The same files give the same weights. */
function main(args: string[]): void {
  const { positionals, values } = parseArgs({
    args,
    allowPositionals: true,
    options: { out: { type: 'string' } },
  })
  const [rows, vectorFile] = positionals.map((path) => resolve(process.env.INIT_CWD ?? '', path))
  if (rows === undefined || vectorFile === undefined) throw new Error(USAGE)
  const vectors = readWordVectors(vectorFile)
  const examples = readExamples(rows, vectors)
  const sets = Map.groupBy(examples, ({ row }) => row.dataset)
  const digest = createHash('sha256').update(readFileSync(rows)).digest('hex').slice(0, SHOWN_DIGITS)
  const weights = trainModel(examples, vectors, {
    data: `${[...sets].map(([name, rows]) => `${name} ${rows.length}`).join(', ')}; sha256 ${digest}`,
  })
  const out = values.out ?? SHIPPED
  writeFileSync(out, withLineBreaks(weights))
  console.log(`${examples.length} rows; ${out} written`)
}

/** One feature a line, so that a training shows as a readable difference. */
function withLineBreaks({ features, ...others }: WeightsDocument): string {
  const lines = Object.entries(features).map(
    ([name, numbers]) => `${JSON.stringify(name)}: ${JSON.stringify(numbers)}`,
  )
  const rest = Object.entries(others).map(
    ([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`,
  )
  return `{\n${rest.join(',\n')},\n"features": {\n${lines.join(',\n')}\n}\n}\n`
}

main(process.argv.slice(2))
