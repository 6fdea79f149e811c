import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'

const RUNTIME_MAJOR = 24

export const ROOT = resolve(import.meta.dirname ?? new URL('.', import.meta.url).pathname, '../../..')

/** True in an installed package, whose TypeScript is compiled: Node strips types nowhere below node_modules. */
export const IS_PACKAGE = !existsSync(join(ROOT, 'tsconfig.json'))

/** @returns {string} */
export const version = () => JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version

/** The Node that was installed with the packages; on a platform without one, the host's, if it is new enough. */
export function projectNode() {
  try {
    const manifest = `node-${process.platform}-${process.arch}/package.json`
    return join(dirname(createRequire(join(ROOT, 'package.json')).resolve(manifest)), 'bin', 'node')
  } catch (error) {
    if (error.code !== 'MODULE_NOT_FOUND') throw error
  }
  if (Number(process.versions.node.split('.')[0]) >= RUNTIME_MAJOR) return process.execPath
  throw new Error(
    `Node ${RUNTIME_MAJOR} or newer is needed on ${process.platform} ${process.arch}; this is ${process.version}`,
  )
}

/**
 * Where an installed package keeps its data: the place that the system gives to programs.
 * @param {string} platform as `process.platform`
 * @param {Record<string, string | undefined>} environment
 */
export function userDataFolder(platform, environment) {
  const home = homedir()
  if (platform === 'win32')
    return join(environment.LOCALAPPDATA || join(home, 'AppData', 'Local'), 'shuntyard')
  if (platform === 'darwin') return join(home, 'Library', 'Application Support', 'shuntyard')
  return join(environment.XDG_DATA_HOME || join(home, '.local', 'share'), 'shuntyard')
}
