import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join, resolve } from 'node:path'

const ROOT = resolve(import.meta.dirname, '../..')

/** Each looks at something else; together they are what a change must pass besides the tests. */
const CHECKS = [
  { name: 'types', command: 'tsc', args: ['--noEmit', '-p', '.'] },
  { name: 'types of the console', command: 'tsc', args: ['--noEmit', '-p', 'web'] },
  { name: 'format and lint', command: 'biome', args: ['check', '--diagnostic-level=warn'] },
  { name: 'unused code', command: 'knip', args: [] },
  {
    name: 'direction of imports',
    command: 'depcruise',
    args: ['src', 'workers', 'web', 'tools', 'test', '--output-type', 'err'],
  },
]

/** `npm run check`: runs every check, also after one has failed. Resolves to the exit code. */
async function main(): Promise<number> {
  const failed: string[] = []
  for (const { name, command, args } of CHECKS) {
    process.stdout.write(`\n— ${name}: ${command} ${args.join(' ')}\n`)
    const child = spawn(join(ROOT, 'node_modules/.bin', command), args, { cwd: ROOT, stdio: 'inherit' })
    const [code] = await once(child, 'close')
    if (code !== 0) failed.push(name)
  }
  process.stdout.write(failed.length > 0 ? `\nFailed: ${failed.join(', ')}\n` : '\nAll checks passed.\n')
  return failed.length > 0 ? 1 : 0
}

process.exitCode = await main()
