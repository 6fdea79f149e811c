import { join } from 'node:path'
import { runProcess } from '../bootstrap/run-process.mjs'
import { type DebianPackage, unpackDebianPackage } from './debian-package.ts'

/** How to run a Redis server on this machine. */
export type RedisProgram =
  | { kind: 'binary'; command: string; libraryPath: string | null }
  | { kind: 'docker'; image: string }

const NAMES = ['redis-server', 'valkey-server']
const OLDEST = [6, 2] as const
const DOCKER_IMAGE = 'redis:7-alpine'
const ASK_TIMEOUT_MS = 10_000
const PACKAGE: DebianPackage = {
  name: 'redis',
  description: 'a Redis server',
  package: 'redis-server',
  always: ['redis-tools'],
  usual: ['redis-tools', 'libjemalloc2', 'liblzf1'],
}

/**
 * Finds a Redis server, in this order: one on the PATH that is new enough, Debian's own package unpacked
 * into a cache folder (no root needed), Docker. Throws with what to do when there is none.
 */
export async function findRedisProgram(
  cacheFolders: string[],
  log: (line: string) => void,
): Promise<RedisProgram> {
  for (const command of NAMES) {
    if (await isNewEnough(command, null)) return { kind: 'binary', command, libraryPath: null }
  }
  const reasons = ['there is no redis-server or valkey-server of version 6.2 or newer on the PATH']
  try {
    const { root, libraryPath } = await unpackDebianPackage(PACKAGE, cacheFolders, log)
    const command = join(root, 'usr/bin/redis-server')
    if (await isNewEnough(command, libraryPath)) return { kind: 'binary', command, libraryPath }
    reasons.push(`the unpacked ${command} does not run or is older than 6.2`)
  } catch (error) {
    reasons.push(`Debian's packages could not be unpacked (${(error as Error).message.trim()})`)
  }
  if (await outputOf('docker', ['version', '--format', '{{.Server.Version}}'])) {
    return { kind: 'docker', image: DOCKER_IMAGE }
  }
  reasons.push('there is no running Docker engine')
  throw new Error(
    `No Redis server could be found or fetched:\n${reasons.map((reason) => `  - ${reason}`).join('\n')}\nInstall one (for example "apt-get install redis-server"), or set REDIS_URL.`,
  )
}

async function isNewEnough(command: string, libraryPath: string | null): Promise<boolean> {
  const environment = libraryPath === null ? {} : { LD_LIBRARY_PATH: libraryPath }
  const text = await outputOf(command, ['--version'], environment)
  const version = /v=(\d+)\.(\d+)/.exec(text)
  if (!version) return false
  const [major, minor] = [Number(version[1]), Number(version[2])]
  return major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])
}

/** What a command prints; nothing where it is not there, not executable or fails. */
const outputOf = (command: string, args: string[], environment: object = {}): Promise<string> =>
  runProcess(command, args, { env: { ...process.env, ...environment }, timeout: ASK_TIMEOUT_MS }).catch(
    () => '',
  )
