/**
 * The file in which a running `npm start` writes down where its services are, so that the operator's
 * commands of the same clone find them. Only its owner may read it: it holds passwords.
 */
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { isRunning } from './process-lock.mjs'

/** @typedef {{ pid: number, startTime: string, environment: Record<string, string> }} RunningServices */

/**
 * Where a clone keeps its data.
 * @param {string} root
 * @param {Record<string, string | undefined>} environment
 */
export function dataDirectory(root, environment) {
  return resolve(root, environment.DATA_DIR || '.data')
}

/** @param {string} dataDir */
export function runtimeFile(dataDir) {
  return join(dataDir, 'runtime.json')
}

/**
 * What runs over this data folder, or null.
 * @param {string} dataDir
 * @returns {RunningServices | null}
 */
export function findRunningServices(dataDir) {
  let text
  try {
    text = readFileSync(runtimeFile(dataDir), 'utf8')
  } catch (error) {
    if (error.code === 'ENOENT') return null
    throw error
  }
  const services = JSON.parse(text)
  return isRunning(services.pid, services.startTime) ? services : null
}
