/**
 * The file in which a running `npm start` writes down where its services are, so that the operator's
 * commands of the same clone find them. Only its owner may read it: it holds passwords.
 */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { isRunning, processStartTime } from './process-lock.mjs'

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

/**
 * Writes the file for this process.
 * @param {string} dataDir
 * @param {Record<string, string>} environment what the operator's commands need: DATABASE_URL, REDIS_URL and the like
 */
export function writeRunningServices(dataDir, environment) {
  const services = { pid: process.pid, startTime: processStartTime(process.pid), environment }
  const path = runtimeFile(dataDir)
  writeFileSync(`${path}.new`, `${JSON.stringify(services, null, 2)}\n`, { mode: 0o600 })
  renameSync(`${path}.new`, path)
}

/** @param {string} dataDir */
export function removeRunningServices(dataDir) {
  rmSync(runtimeFile(dataDir), { force: true })
}
