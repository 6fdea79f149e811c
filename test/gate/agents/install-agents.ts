import { execFile } from 'node:child_process'
import { access, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { CodingAgent } from './coding-agents.ts'

const CACHE = join(import.meta.dirname, '../../../node_modules/.cache/gate-agents')
const INSTALL_TIMEOUT_MS = 600_000
const run = promisify(execFile)

/**
 * Installs an agent, in exactly its version, unless a run before did. It takes some hundred megabytes.
 * @returns the folder with its program. Rejects if a registry cannot be reached
 */
export async function installAgent({ package: { registry, name, version } }: CodingAgent): Promise<string> {
  const folder = join(CACHE, `${name.replace('/', '-')}-${version}`)
  const programs = join(folder, registry === 'npm' ? 'node_modules/.bin' : 'bin')
  const finished = join(folder, '.installed')
  if (await exists(finished)) return programs
  await mkdir(folder, { recursive: true })
  const options = { cwd: folder, timeout: INSTALL_TIMEOUT_MS }
  if (registry === 'npm') {
    await writeFile(join(folder, 'package.json'), '{"private":true}')
    await run('npm', ['install', '--no-audit', '--no-fund', `${name}@${version}`], options)
  } else {
    await run('python3', ['-m', 'venv', folder], options)
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', `${name}==${version}`]
    await run(join(programs, 'python'), pip, options)
  }
  await writeFile(finished, '')
  return programs
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )
