import { execFile } from 'node:child_process'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')

interface CruiseResult {
  modules: Array<{ source: string; dependencies: Array<{ resolved: string; dependencyTypes: string[] }> }>
}

// `npm run check` holds all code to the direction of imports; this guards that it sees them.
test('the check of import directions reads sources, and imports of types among them', async () => {
  const command = join(ROOT, 'node_modules/.bin/depcruise')
  const args = ['src/core/calls/call-job.ts', '--output-type', 'json']
  const { stdout } = await promisify(execFile)(command, args, { cwd: ROOT, maxBuffer: 64 * 1024 * 1024 })
  const { modules } = JSON.parse(stdout) as CruiseResult
  const callJob = modules.find(({ source }) => source === 'src/core/calls/call-job.ts')
  expect(callJob?.dependencies).toContainEqual(
    expect.objectContaining({
      resolved: 'src/core/kernel/ids.ts',
      dependencyTypes: expect.arrayContaining(['type-only']),
    }),
  )
})
