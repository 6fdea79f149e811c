import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'

interface Lock {
  packages: Record<
    string,
    { dependencies?: Record<string, string>; optionalDependencies?: Record<string, string> }
  >
}

const ROOT = resolve(import.meta.dirname, '../..')
const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as Lock

/** Node's lookup: in the folder of the package itself, then in each one around it. */
function isLocked(name: string, from: string): boolean {
  if (`${from}${from && '/'}node_modules/${name}` in packages) return true
  return from !== '' && isLocked(name, from.slice(0, Math.max(0, from.lastIndexOf('/node_modules/'))))
}

// npm leaves out the packages of other platforms when it writes a lock file beside an installed node_modules,
// and `npm ci` then refuses it everywhere. Delete both and run `npm install --package-lock-only` to mend that.
test('the lock file holds the optional packages of every platform', () => {
  const missing = Object.entries(packages).flatMap(([path, entry]) =>
    Object.keys({ ...entry.dependencies, ...entry.optionalDependencies })
      .filter((name) => !isLocked(name, path))
      .map((name) => `${name}, asked for by ${path || 'package.json'}`),
  )
  expect(missing).toEqual([])
  expect(Object.keys(packages)).toContain('node_modules/@biomejs/cli-win32-x64')
})
