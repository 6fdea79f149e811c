import { execFile } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { type LockFile, lockedDependencies } from '../../tools/package/locked-dependencies.ts'

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

/** Prisma's command line, and what only that brings: a studio with a graph library, and a client of MySQL. */
const COMMAND_LINE = ['prisma', '@prisma/studio-core', 'elkjs', 'mysql2', 'seq-queue']

const unwanted = (paths: readonly string[]) =>
  COMMAND_LINE.filter((name) => paths.some((path) => path.endsWith(`node_modules/${name}`)))

test('production has nothing of the command line of Prisma: neither the package nor the image', async () => {
  expect(unwanted(Object.keys(packages))).toEqual(COMMAND_LINE)
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as LockFile
  expect(unwanted(Object.keys(lockedDependencies(lock).packages))).toEqual([])

  const folder = mkdtempSync(join(tmpdir(), 'shuntyard-image-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const file of ['package.json', 'package-lock.json']) copyFileSync(join(ROOT, file), join(folder, file))
  const [, removal] = /^RUN npm (uninstall .*prisma) /m.exec(readFileSync(join(ROOT, 'Dockerfile'), 'utf8'))!
  const asked = removal!.split(' ').filter((argument) => argument !== '--no-save')
  await promisify(execFile)('npm', [...asked, '--package-lock-only', '--offline'], { cwd: folder })
  const left = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8')) as Lock
  expect(unwanted(Object.keys(left.packages))).toEqual([])
  expect(Object.keys(left.packages)).toContain('node_modules/@prisma/client')
})
