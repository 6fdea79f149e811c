import { execFile } from 'node:child_process'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')

interface CruiseResult {
  modules: Array<{ source: string; dependencies: Array<{ resolved: string; dependencyTypes: string[] }> }>
  summary: { violations: Array<{ from: string; to: string; rule: { name: string } }> }
}

async function cruise(): Promise<CruiseResult> {
  const command = join(ROOT, 'node_modules/.bin/depcruise')
  const options = { cwd: ROOT, maxBuffer: 64 * 1024 * 1024 }
  const run = promisify(execFile)(command, ['src', 'workers', 'test', '--output-type', 'json'], options)
  // It exits with the number of violations; they are in what it prints.
  const { stdout } = await run.catch((error: { stdout?: string }) => {
    if (!error.stdout) throw error
    return { stdout: error.stdout }
  })
  return JSON.parse(stdout)
}

test('imports point one way', async () => {
  const { modules, summary } = await cruise()

  const violations = summary.violations.map(({ from, to, rule }) => `${rule.name}: ${from} -> ${to}`)
  expect(violations).toEqual([])

  // Guards the guard: the sources were read, and imports of types among them.
  const callJob = modules.find(({ source }) => source === 'src/core/calls/call-job.ts')
  expect(callJob?.dependencies).toContainEqual(
    expect.objectContaining({
      resolved: 'src/core/kernel/ids.ts',
      dependencyTypes: expect.arrayContaining(['type-only']),
    }),
  )
})
