#!/usr/bin/env node
/**
 * The money bench: `node run.mjs ADAPTER [NAME…]` runs the scenarios, or those whose names contain a text, against a gateway and prints a
 * scorecard. POSTGRES_PROGRAMS: the folder of initdb and postgres; REDIS_PROGRAM. See README.md.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pause } from './client.mjs'
import { judge } from './judge.mjs'
import { startProvider } from './provider.mjs'
import { SCENARIOS } from './scenarios.mjs'

const print = (text) => process.stdout.write(`${text}\n`)
const SCENARIO_MS = 300_000
const [adapter = 'shuntyard', ...names] = process.argv.slice(2)
const path = join(import.meta.dirname, 'adapters', `${adapter}.mjs`)
const { POSTGRES_PROGRAMS: postgresPrograms, REDIS_PROGRAM: redisProgram = 'redis-server' } = process.env
if (!existsSync(path) || !postgresPrograms) {
  process.stderr.write('Usage: POSTGRES_PROGRAMS=FOLDER node run.mjs shuntyard|litellm [NAME…]\n')
  process.exit(2)
}

const provider = await startProvider()
const { open } = await import(path)
const gateway = await open({ providerUrl: provider.url, instances: 3, postgresPrograms, redisProgram })
print(`# ${gateway.name} ${gateway.version}, ${new Date().toISOString().slice(0, 10)}\n`)
print('| scenario | right, USD | charged, USD | verdict | |\n|---|---|---|---|---|')
const counts = {}
const fixed = (amount) => amount.toFixed(3)
const usd = (amount) => (Array.isArray(amount) ? amount.map(fixed).join(' to ') : fixed(amount))
for (const { name, run } of SCENARIOS) {
  if (names.length > 0 && !names.some((text) => name.includes(text))) continue
  let row
  try {
    const late = pause(SCENARIO_MS).then(() => Promise.reject(new Error('took too long')))
    late.catch(() => undefined)
    const outcome = await Promise.race([run({ gateway, provider }), late])
    const { right, spent, detail = '', problem, skipped } = outcome
    row = skipped
      ? ['', '', '–', skipped]
      : [usd(right), usd(spent), judge(outcome), [detail, problem].filter(Boolean).join('; ')]
  } catch (error) {
    row = ['', '', 'failed', error.message.slice(0, 200)]
  }
  counts[row[2]] = (counts[row[2]] ?? 0) + 1
  print(`| ${name} | ${row.join(' | ')} |`)
}
const sums = Object.entries(counts).map(([verdict, count]) => `${count} ${verdict}`)
print(`\n${sums.join(', ')}`)
process.exit(0)
