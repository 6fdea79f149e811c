import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { waitForLock } from './bootstrap/process-lock.mjs'
import { runProcess, withProgress } from './bootstrap/run-process.mjs'

const BUILD_TIMEOUT_MS = 120_000

/** What the pages have of the server, beside types, which leave no trace in them. */
export const SHARED_SOURCES = ['src/core/api/agent-settings.ts', 'src/core/kernel/money.ts']

/** Where the console's other sources are, and the pages built from them. */
export const consoleFolder = (root: string): string => join(root, 'web')

/**
 * Builds the console's pages unless the ones there came from exactly these sources and packages. One process at a
 * time builds; the others wait for it and then find everything done.
 */
export async function ensureConsole(root: string): Promise<void> {
  // An installed package has the pages alone.
  if (!existsSync(join(consoleFolder(root), 'vite.config.ts'))) return
  if (consoleIsCurrent(root)) return
  const release = await waitForLock(join(root, '.data', 'console.lock'), { timeoutMs: BUILD_TIMEOUT_MS })
  try {
    if (!consoleIsCurrent(root)) await buildConsole(root)
  } finally {
    release()
  }
}

/** True when the pages were built from the sources and packages that are here now. */
export function consoleIsCurrent(root: string): boolean {
  const stamp = stampFile(root)
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === stampOf(root)
}

/** Builds the console's pages. Rejects, with the builder's output, when that fails or takes two minutes. */
async function buildConsole(root: string): Promise<void> {
  const stamp = stampOf(root)
  const args = [
    join(root, 'node_modules', 'vite', 'bin', 'vite.js'),
    'build',
    '--config',
    join(consoleFolder(root), 'vite.config.ts'),
  ]
  const env = { ...process.env, NODE_ENV: 'production' }
  const signal = AbortSignal.timeout(BUILD_TIMEOUT_MS)
  await withProgress('building the console', () =>
    runProcess(process.execPath, args, { cwd: root, env, signal }),
  )
  writeFileSync(stampFile(root), stamp)
}

/** Beside the build's manifest: an interrupted build has none, since the folder is emptied first. */
const stampFile = (root: string): string => join(consoleFolder(root), 'dist', '.vite', 'sources.sha256')

function stampOf(root: string): string {
  const folder = consoleFolder(root)
  const hash = createHash('sha256')
  for (const path of [
    ...sourcesIn(folder),
    ...docsIn(root),
    ...SHARED_SOURCES.map((path) => join(root, path)),
    join(root, 'package-lock.json'),
  ]) {
    hash
      .update(`${relative(root, path)}\n`)
      .update(readFileSync(path))
      .update('\n')
  }
  return hash.digest('hex')
}

/** The pages of docs/: the console shows the runbook, and those for users. */
const docsIn = (root: string): string[] =>
  readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(root, 'docs', name))
    .sort()

function sourcesIn(folder: string): string[] {
  const dist = join(folder, 'dist')
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !path.startsWith(dist))
    .sort()
}

// `npm run console:build`
if (import.meta.main) await ensureConsole(resolve(import.meta.dirname, '../..'))
