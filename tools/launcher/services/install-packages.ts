import { access, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { runProcess } from '../bootstrap/run-process.mjs'

/** Exact versions of packages that are not part of the gateway. */
export interface PinnedPackages {
  registry: 'npm' | 'pypi'
  /** By name; a Python package may name an extra in brackets. */
  versions: Readonly<Record<string, string>>
}

/** Kept for later runs of the gate. */
const CACHE = join(import.meta.dirname, '../../../node_modules/.cache/gate-packages')
const INSTALL_TIMEOUT_MS = 900_000

/**
 * Installs packages together below a folder, unless an earlier run did. What is installed is killed with this process.
 * @returns their folder, and the one with their programs. Rejects if a registry cannot be reached or Python is missing
 */
export async function installPackages(
  { registry, versions }: PinnedPackages,
  cache = CACHE,
  env: Record<string, string | undefined> = process.env,
) {
  const sign = registry === 'npm' ? '@' : '=='
  const packages = Object.entries(versions).map(([name, version]) => `${name}${sign}${version}`)
  const folder = join(cache, packages.join('+').replace(/[^\w.+-]+/g, '-'))
  const programs = join(folder, registry === 'npm' ? 'node_modules/.bin' : 'bin')
  const finished = join(folder, '.installed')
  if (await exists(finished)) return { folder, programs }
  await mkdir(folder, { recursive: true })
  const options = { cwd: folder, env, timeout: INSTALL_TIMEOUT_MS }
  if (registry === 'npm') {
    await writeFile(join(folder, 'package.json'), '{"private":true}')
    await runProcess('npm', ['install', '--no-audit', '--no-fund', ...packages], options)
  } else {
    await runProcess('python3', ['-m', 'venv', folder], options).catch((cause: Error) => {
      const advice = 'Python 3 with its module venv is needed (Debian: apt-get install python3-venv)'
      throw new Error(`${advice}: ${cause.message.trim()}`, { cause })
    })
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...packages]
    await runProcess(join(programs, 'python'), pip, options)
  }
  await writeFile(finished, '')
  return { folder, programs }
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )
