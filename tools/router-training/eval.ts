import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { evaluate } from './evaluate.ts'
import { evaluationReport } from './evaluation-report.ts'
import { readExamples } from './router-rows.ts'

const USAGE = 'Usage: npm run router:eval -- ROWS.jsonl[.gz] [--json]'

/**
 * `npm run router:eval -- ROWS`: trains without each part of the data, scores that part, and prints APGR and
 * CPT with intervals beside random, prompt length and published results. About two minutes for 12,000 rows.
 */
function main(args: string[]): void {
  const options = { json: { type: 'boolean', default: false } } as const
  const { positionals, values } = parseArgs({ args, allowPositionals: true, options })
  const [path] = positionals
  if (path === undefined) throw new Error(USAGE)
  const evaluation = evaluate(readExamples(resolve(process.env.INIT_CWD ?? '', path)))
  console.log(values.json ? JSON.stringify(evaluation) : evaluationReport(evaluation))
}

main(process.argv.slice(2))
