import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { waitForLock } from './process-lock.mjs'
import { runProcess, withProgress } from './run-process.mjs'

const PREPARE_TIMEOUT_MS = 15 * 60_000

/**
 * Installs the packages and generates the database client, unless both are current. One command at a time does so;
 * the others wait for it and then find everything done.
 * @param {string} root
 * @param {() => string} projectNode the Node to run Prisma on, known once packages are installed
 */
export async function prepareClone(root, projectNode) {
  if (isPrepared(root)) return
  const release = await waitForLock(join(root, '.data', 'prepare.lock'), {
    timeoutMs: PREPARE_TIMEOUT_MS,
    onWait: (pid) =>
      console.error(`  waiting for another command (process ${pid}) that prepares this clone …`),
  })
  // A lock left behind would be recognized as stale, but is one thing less to explain.
  process.once('exit', release)
  try {
    if (!packagesAreInstalled(root)) await installPackages(root)
    if (!clientIsCurrent(root)) await generateClient(root, projectNode())
  } finally {
    release()
    process.removeListener('exit', release)
  }
}

function isPrepared(root) {
  return packagesAreInstalled(root) && clientIsCurrent(root)
}

/**
 * True when node_modules holds what package-lock.json asks for. npm writes the lock file of the installed
 * tree last, so an interrupted install is noticed. Packages for other platforms may be missing.
 */
function packagesAreInstalled(root) {
  const wanted = readLock(join(root, 'package-lock.json'))
  const installed = readLock(join(root, 'node_modules', '.package-lock.json'))
  if (!wanted || !installed) return false
  return Object.entries(wanted.packages).every(([path, entry]) => {
    if (path === '') return true
    const found = installed.packages[path]
    if (!found) return Boolean(entry.optional || entry.devOptional || entry.peer)
    return found.version === entry.version
  })
}

/**
 * Installs exactly what package-lock.json lists. Install scripts are not run: npm 10 runs all of them, npm 11
 * none that is not approved, and the only one this project needs is done by `postgresBinaries`.
 */
async function installPackages(root) {
  const [command, args] = npmCommand()
  const options = { cwd: root, env: { ...process.env, NODE_ENV: 'development' } }
  // An interrupted `npm pack` leaves the lock file of the package, which npm would take for that of the clone.
  rmSync(join(root, 'npm-shrinkwrap.json'), { force: true })
  await withProgress('installing packages (only the first time)', () => runProcess(command, args, options))
}

/** The npm that runs us, or the one on the PATH. */
function npmCommand() {
  const args = ['ci', '--ignore-scripts', '--include=dev', '--include=optional', '--prefer-offline']
  const cli = process.env.npm_execpath
  return cli?.endsWith('.js') ? [process.execPath, [cli, ...args]] : ['npm', args]
}

function readLock(path) {
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : null
}

/**
 * True when the database client was generated from the schema and the Prisma that are here now.
 */
function clientIsCurrent(root) {
  const stamp = stampFile(root)
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === stampOf(root)
}

/**
 * Generates the database client. Needs no database and no network: Prisma insists on a schema engine being
 * there, but `generate` does not use it, so any program that exits well will do.
 */
async function generateClient(root, node) {
  const stamp = stampOf(root)
  const args = [join(root, 'node_modules', 'prisma', 'build', 'index.js'), 'generate']
  const env = {
    ...process.env,
    PRISMA_SCHEMA_ENGINE_BINARY: '/bin/true',
    PRISMA_HIDE_UPDATE_MESSAGE: '1',
    CHECKPOINT_DISABLE: '1',
  }
  await withProgress('generating the database client', () => runProcess(node, args, { cwd: root, env }))
  writeFileSync(stampFile(root), stamp)
}

const stampFile = (root) => join(root, 'src', 'platform', 'prisma-client', '.stamp')

function stampOf(root) {
  const hash = createHash('sha256')
  for (const path of ['prisma/schema.prisma', 'prisma.config.ts', 'node_modules/prisma/package.json']) {
    hash.update(readFileSync(join(root, path)))
  }
  return hash.digest('hex')
}
