import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { runProcess } from '../../tools/launcher/bootstrap/run-process.mjs'
import { freePort } from '../../tools/launcher/ports.ts'
import { startProcessGuard } from '../../tools/launcher/processes/process-guard.ts'
import { type ProcessPlan, spawnPlan } from '../../tools/launcher/processes/spawn-plan.ts'
import { cacheFolders } from '../../tools/launcher/services/debian-package.ts'

const ROOT = resolve(import.meta.dirname, '../..')
/** ClickHouse's engine as a Python library, 180 MB; there is no package of the server. */
const PACKAGE = 'chdb-core==26.9.0'
const INSTALL_TIMEOUT_MS = 600_000
const [USER, PASSWORD] = ['gateway', 'of the tests']

/** The engine of ClickHouse behind its HTTP interface. */
export interface TestClickHouse {
  url: string
  kill(): Promise<void>
  /** Over the same data. */
  restart(): Promise<void>
  /** Starts without data. */
  restartEmpty(): Promise<void>
  close(): Promise<void>
}

export async function startClickHouse(): Promise<TestClickHouse> {
  const packages = await installEngine()
  const folder = await mkdtemp(join(tmpdir(), 'shuntyard-clickhouse-'))
  const data = join(folder, 'data')
  const port = await freePort()
  const plan: ProcessPlan = {
    name: 'clickhouse',
    command: 'python3',
    args: [join(import.meta.dirname, 'clickhouse-server.py'), String(port), data, USER, PASSWORD],
    cwd: folder,
    env: { PATH: process.env.PATH, PYTHONPATH: packages },
    stopSignal: 'SIGKILL',
    stopTimeoutMs: 5_000,
    probe: async (signal) => void (await fetch(`http://127.0.0.1:${port}/ping`, { signal })),
    readyTimeoutMs: 60_000,
  }
  const guard = startProcessGuard()
  const start = () => spawnPlan(plan, { onSpawn: (pid) => guard.add(pid, 'services') })
  let running = await start()
  const kill = async () => {
    await running.kill()
    guard.remove(running.pid)
  }
  const restart = async () => {
    running = await start()
  }
  return {
    url: `http://${USER}:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}/analytics`,
    kill,
    restart,
    async restartEmpty() {
      await kill()
      await rm(data, { recursive: true, force: true })
      await restart()
    },
    async close() {
      await kill()
      guard.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Installs the engine into a cache folder, once for all copies of the project. Throws with what to do when it cannot. */
async function installEngine(): Promise<string> {
  const [cache] = cacheFolders(join(ROOT, '.data'), process.env) as [string]
  const folder = join(cache, PACKAGE.replace('==', '-'))
  if (existsSync(folder)) return folder
  const temporary = `${folder}.${process.pid}`
  await mkdir(temporary, { recursive: true })
  process.stderr.write(`  fetching ${PACKAGE} for the tests of ClickHouse …\n`)
  try {
    const args = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-deps']
    await runProcess('python3', [...args, '--target', temporary, PACKAGE], {
      env: process.env,
      timeout: INSTALL_TIMEOUT_MS,
    })
    // Another run may have been quicker; its copy is the same.
    await rename(temporary, folder).catch((error: unknown) => {
      if (!existsSync(folder)) throw error
    })
  } catch (error) {
    throw new Error(
      `The tests of ClickHouse need Python with ${PACKAGE}, which could not be fetched: ${(error as Error).message}`,
      { cause: error },
    )
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
  return folder
}
