import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { evaluate } from './evaluate.ts'
import { evaluationReport } from './evaluation-report.ts'
import { readExamples } from './router-rows.ts'
import { readWordVectors } from './word-vectors.ts'

const USAGE = 'Usage: npm run router:eval -- ROWS.jsonl[.gz] VECTORS [--json]'

/**
 * `npm run router:eval -- ROWS VECTORS`: trains without each part of the data, scores that part, and prints APGR and
 * CPT with intervals beside random, prompt length and published results. About two minutes for 12,000 rows.
 */
function main(args: string[]): void {
  const options = { json: { type: 'boolean', default: false } } as const
  const { positionals, values } = parseArgs({ args, allowPositionals: true, options })
  const [rows, vectorFile] = positionals.map((path) => resolve(process.env.INIT_CWD ?? '', path))
  if (rows === undefined || vectorFile === undefined) throw new Error(USAGE)
  const vectors = readWordVectors(vectorFile)
  const evaluation = evaluate(readExamples(rows, vectors), vectors)
  console.log(values.json ? JSON.stringify(evaluation) : evaluationReport(evaluation))
}

main(process.argv.slice(2))
