import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { GateContext } from './check.ts'

const PACKAGES = ['openai', 'openai-agents']
const INSTALL_TIMEOUT_MS = 180_000

const run = promisify(execFile)

/**
 * A throwaway Python environment with the current client libraries, from the package index that pip is configured for.
 * `missing` says why there is none.
 */
export async function installPythonClients(): Promise<{
  python: GateContext['python']
  remove(): Promise<void>
}> {
  const folder = await mkdtemp(join(tmpdir(), 'shuntyard-gate-python-'))
  const remove = () => rm(folder, { recursive: true, force: true })
  const command = join(folder, 'bin', 'python')
  try {
    await run('python3', ['-m', 'venv', folder], { timeout: INSTALL_TIMEOUT_MS })
    await run(command, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...PACKAGES], {
      timeout: INSTALL_TIMEOUT_MS,
    })
    return { python: { command }, remove }
  } catch (error) {
    const why = (error as Error).message.trim().split('\n').at(-1)
    return { python: { missing: `no Python with ${PACKAGES.join(', ')}: ${why}` }, remove }
  }
}
