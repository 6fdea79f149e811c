import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { runProcess } from '../../../tools/launcher/bootstrap/run-process.mjs'
import { freePort } from '../../../tools/launcher/ports.ts'
import { spawnPlan } from '../../../tools/launcher/processes/spawn-plan.ts'
import {
  cacheFolders,
  type DebianPackage,
  unpackDebianPackage,
} from '../../../tools/launcher/services/debian-package.ts'
import type { GatewayProcess } from '../targets/target.ts'

const ROOT = resolve(import.meta.dirname, '../../..')
const PACKAGE: DebianPackage = {
  name: 'haproxy',
  description: 'haproxy for the bench',
  package: 'haproxy',
  always: [],
  usual: ['liblua5.3-0', 'libopentracing-c-wrapper0', 'libopentracing1'],
}

interface Program {
  command: string
  env: Record<string, string | undefined>
}

/** haproxy of the PATH, else Debian's package unpacked into a cache folder. Throws when there is none. */
async function findProgram(log: (line: string) => void): Promise<Program> {
  const installed = { command: 'haproxy', env: { PATH: process.env.PATH } }
  if (await runs(installed)) return installed
  const { root, libraryPath } = await unpackDebianPackage(
    PACKAGE,
    cacheFolders(join(ROOT, '.data'), process.env),
    log,
  )
  const unpacked = { command: join(root, 'usr/sbin/haproxy'), env: { LD_LIBRARY_PATH: libraryPath } }
  if (await runs(unpacked)) return unpacked
  throw new Error(`the unpacked ${unpacked.command} does not run`)
}

const runs = ({ command, env }: Program): Promise<boolean> =>
  runProcess(command, ['-v'], { env, timeout: 10_000 }).then(
    () => true,
    () => false,
  )

/**
 * Starts haproxy with deploy/haproxy.cfg before some API instances, where Docker's names are replaced by their addresses.
 * @param callsMax concurrent calls of each instance; more wait in haproxy
 */
export async function startHaproxy(
  instances: readonly GatewayProcess[],
  { callsMax, log }: { callsMax?: number; log: (line: string) => void },
): Promise<{ url: string; stop(): Promise<void> }> {
  const { command, env } = await findProgram(log)
  const folder = await mkdtemp(join(tmpdir(), 'shuntyard-haproxy-'))
  const port = await freePort()
  const published = await readFile(join(ROOT, 'deploy/haproxy.cfg'), 'utf8')
  const servers = instances.map(({ url, metricsPort }, index) => {
    const limit = callsMax === undefined ? '' : ` maxconn ${callsMax}`
    return `    server api${index} ${new URL(url).host} check port ${metricsPort} inter 1s fall 2 rise 1${limit}`
  })
  const config = published
    .replace(/^resolvers docker\n(?: {4}.*\n)*/m, '')
    .replace(/^ {4}default-server .*\n/m, '')
    .replace(/^ {4}server-template .*$/m, servers.join('\n'))
    .replace('bind :8080', `bind 127.0.0.1:${port}`)
    .replace('maxconn 20000', 'maxconn 4000')
    .replace(/^ {4}option httplog$/m, '    no log')
    // What waits for a free place of an instance waits as long as a call.
    .replace('timeout connect 2s', 'timeout connect 2s\n    timeout queue 60s')
  const file = join(folder, 'haproxy.cfg')
  await writeFile(file, config)
  const url = `http://127.0.0.1:${port}`
  const running = await spawnPlan({
    name: 'haproxy',
    command,
    args: ['-db', '-f', file],
    cwd: folder,
    env,
    stopSignal: 'SIGTERM',
    stopTimeoutMs: 2_000,
    readyTimeoutMs: 20_000,
    async probe(signal) {
      const response = await fetch(`${url}/readyz`, { signal })
      if (!response.ok) throw new Error(`no instance is ready: ${response.status}`)
    },
  })
  return {
    url,
    async stop() {
      await running.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
