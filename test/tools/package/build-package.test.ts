import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildPackage } from '../../../tools/package/build-package.ts'
import { installedCount, type LockFile } from '../../../tools/package/locked-dependencies.ts'

const ROOT = resolve(import.meta.dirname, '../../..')
/** Production packages before the package was built: `npm ls --omit=dev --all` in a clone. */
const PACKAGES_BEFORE = 406
/** Without the pages of the console, which take one more. */
const PACKED_BYTES_MAX = 5_000_000
const run = promisify(execFile)

const target = mkdtempSync(join(tmpdir(), 'shuntyard-package-'))
let packed: { size: number; files: { path: string }[] }
let lock: LockFile

beforeAll(async () => {
  const pages = join(target, 'pages')
  mkdirSync(join(pages, '.vite'), { recursive: true })
  writeFileSync(join(pages, 'index.html'), '<!doctype html>')
  writeFileSync(join(pages, '.vite', 'manifest.json'), '{}')
  buildPackage({ root: ROOT, pages, target })
  for (const file of ['package.json', 'README.md', 'LICENSE', 'NOTICE', 'CHANGELOG.md'])
    cpSync(join(ROOT, file), join(target, file))
  const pack = await run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: target })
  packed = JSON.parse(pack.stdout)[0]
  lock = JSON.parse(readFileSync(join(target, 'npm-shrinkwrap.json'), 'utf8'))
})
afterAll(() => rmSync(target, { recursive: true }))

const paths = () => packed.files.map(({ path }) => path)
const scripts = () => paths().filter((path) => /\.m?js$/.test(path))
const read = (path: string) => readFileSync(join(target, path), 'utf8')
const importsOf = (path: string) =>
  Array.from(
    read(path).matchAll(
      /^\s*(?:(?:import|export)\b[^'"]*?from |import )'([^']+)'|\bimport\(['"]([^'"]+)['"]\)/gm,
    ),
    ([, first, second]) => first ?? second!,
  )

test('the package holds the program, its licence and its lock file, and nothing that only development needs', () => {
  const { bin } = JSON.parse(read('package.json'))
  for (const path of [bin.shuntyard, 'LICENSE', 'NOTICE', 'npm-shrinkwrap.json', 'dist/web/dist/index.html'])
    expect(paths()).toContain(path)
  expect(paths().filter((path) => /\.(png|jpe?g|webp|gif)$/.test(path))).toEqual([])
  const unwanted =
    /(^|\/)(test|docs|deploy|bench\/(?!targets)|router-training|catalog-import|\.vite)\/|\.(map|ts|tsx|png|jpe?g|md)$/
  const allowed = ['README.md', 'CHANGELOG.md']
  expect(paths().filter((path) => unwanted.test(path) && !allowed.includes(path))).toEqual([])
  expect(packed.size).toBeLessThan(PACKED_BYTES_MAX)
})

test('every import leads to a file of the package or to one of its dependencies', () => {
  const { dependencies, optionalDependencies } = JSON.parse(read('package.json'))
  // The gate installs the libraries that it checks with.
  const clients = Array.from(
    read('dist/checks/gate/packaged-gate.js').matchAll(/'([^']+)'/g),
    ([, name]) => name!,
  )
  const known = new Set([
    ...Object.keys(dependencies),
    ...Object.keys(optionalDependencies),
    ...builtinModules,
  ])
  const isKnown = (path: string, name: string) => {
    if (name.startsWith('.')) return existsSync(join(target, dirname(path), name))
    const found = name
      .replace(/^node:/, '')
      .split('/', name.startsWith('@') ? 2 : 1)
      .join('/')
    return known.has(found) || (path.startsWith('dist/checks/') && clients.includes(found))
  }
  const lost = scripts().flatMap((path) =>
    importsOf(path)
      .filter((name) => !isKnown(path, name))
      .map((name) => `${path}: ${name}`),
  )
  expect(lost).toEqual(['dist/tools/launcher/bootstrap/launch.mjs: ./prepare-clone.mjs'])
})

test('compiled files keep the lines of their sources and name no file that is TypeScript', () => {
  const lines = (text: string) => text.split('\n').length
  for (const path of scripts().filter((path) => path.endsWith('.js'))) {
    const source = readFileSync(
      join(
        ROOT,
        path
          .replace(/^dist\//, '')
          .replace(/^checks/, 'test')
          .replace(/js$/, 'ts'),
      ),
      'utf8',
    )
    expect(`${path}: ${lines(read(path))}`).toBe(`${path}: ${lines(source)}`)
    expect(`${path}: ${/^[^/*]*['"][.\w/-]+\/[\w-]+\.ts['"]/m.exec(read(path))}`).toBe(`${path}: null`)
  }
})

test('at least 100 packages fewer are installed, each with its exact version and hash', () => {
  expect(installedCount(lock, { os: 'linux', cpu: 'x64', libc: 'glibc' })).toBeLessThanOrEqual(
    PACKAGES_BEFORE - 100,
  )
  for (const [path, entry] of Object.entries(lock.packages))
    if (path !== '')
      expect(entry, path).toMatchObject({ version: expect.any(String), integrity: expect.any(String) })
})

test('the program lists its commands by their own name', async () => {
  const program = join(target, JSON.parse(read('package.json')).bin.shuntyard)
  const { stdout } = await run(process.execPath, [program, 'help'])
  expect(stdout).toMatch(/^Usage: shuntyard COMMAND \[--data DIR\]/)
  const names = ['start', 'stop', 'status', 'admin', 'audit', 'trace', 'catalog', 'doctor', 'migrate', 'gate']
  for (const name of names) expect(stdout).toMatch(new RegExp(`^  ${name} +\\w`, 'm'))
  expect(stdout).not.toContain('npm')
  const version = await run(process.execPath, [program, '--version'])
  expect(version.stdout.trim()).toBe(lock.packages['']!.version)
})
