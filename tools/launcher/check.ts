import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join, resolve } from 'node:path'

const ROOT = resolve(import.meta.dirname, '../..')

/** How many run at a time. */
const LANES = 2

/** Each looks at something else; together they are what a change must pass besides the tests. The longest first. */
const CHECKS = [
  { name: 'types', command: 'tsc', args: ['--noEmit', '-p', '.'] },
  { name: 'types of the console', command: 'tsc', args: ['--noEmit', '-p', 'web'] },
  { name: 'format and lint', command: 'biome', args: ['check', '--diagnostic-level=warn'] },
  { name: 'unused code', command: 'knip', args: [] },
  { name: 'size', command: 'node', args: ['tools/check-size.ts'] },
  {
    name: 'direction of imports',
    command: 'depcruise',
    args: ['src', 'workers', 'web', 'tools', 'test', '--output-type', 'err'],
  },
]

/** `npm run check`: runs every check, also after one has failed. Resolves to the exit code. */
async function main(): Promise<number> {
  const failed: string[] = []
  const waiting = [...CHECKS]
  const runOn = async () => {
    for (let check = waiting.shift(); check; check = waiting.shift())
      if (!(await passes(check))) failed.push(check.name)
  }
  await Promise.all(Array.from({ length: LANES }, runOn))
  process.stdout.write(failed.length > 0 ? `\nFailed: ${failed.join(', ')}\n` : '\nAll checks passed.\n')
  return failed.length > 0 ? 1 : 0
}

/** Runs a check and prints what it said once it has ended. */
async function passes({ name, command, args }: (typeof CHECKS)[number]): Promise<boolean> {
  const child = spawn(join(ROOT, 'node_modules/.bin', command), args, {
    cwd: ROOT,
    env: { ...process.env, ...(process.stdout.isTTY && { FORCE_COLOR: '1' }) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const said: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part: Buffer) => said.push(part))
  const [code] = await once(child, 'close')
  process.stdout.write(`\n— ${name}: ${command} ${args.join(' ')}\n${Buffer.concat(said)}`)
  return code === 0
}

process.exitCode = await main()
