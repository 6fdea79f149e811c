import { execFile } from 'node:child_process'
import { access, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** Exact versions of packages that only the gate uses. */
export interface PinnedPackages {
  registry: 'npm' | 'pypi'
  /** By name; a Python package may name an extra in brackets. */
  versions: Readonly<Record<string, string>>
}

const CACHE = join(import.meta.dirname, '../../node_modules/.cache/gate-packages')
const INSTALL_TIMEOUT_MS = 600_000
const run = promisify(execFile)

/**
 * Installs packages together, unless a run before did.
 * @returns their folder, and the one with their programs. Rejects if a registry cannot be reached
 */
export async function installPackages({ registry, versions }: PinnedPackages, cache = CACHE) {
  const sign = registry === 'npm' ? '@' : '=='
  const packages = Object.entries(versions).map(([name, version]) => `${name}${sign}${version}`)
  const folder = join(cache, packages.join('+').replace(/[^\w.+-]+/g, '-'))
  const programs = join(folder, registry === 'npm' ? 'node_modules/.bin' : 'bin')
  const finished = join(folder, '.installed')
  if (await exists(finished)) return { folder, programs }
  await mkdir(folder, { recursive: true })
  const options = { cwd: folder, timeout: INSTALL_TIMEOUT_MS }
  if (registry === 'npm') {
    await writeFile(join(folder, 'package.json'), '{"private":true}')
    await run('npm', ['install', '--no-audit', '--no-fund', ...packages], options)
  } else {
    await run('python3', ['-m', 'venv', folder], options)
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...packages]
    await run(join(programs, 'python'), pip, options)
  }
  await writeFile(finished, '')
  return { folder, programs }
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )
