/**
 * A lock file that names its holder, so that a lock left behind by a killed process is recognized and taken
 * over. A holder is known by pid and start time, since pids are used again.
 */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

const WAIT_STEP_MS = 200

/**
 * Takes the lock unless a running process holds it.
 * @param {string} path
 * @returns {{ acquired: true, release: () => void } | { acquired: false, holderPid: number }}
 */
export function tryLock(path) {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const mine = `${process.pid} ${processStartTime(process.pid)}\n`
  for (;;) {
    try {
      writeFileSync(path, mine, { flag: 'wx', mode: 0o600 })
      return { acquired: true, release: () => releaseLock(path, mine) }
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
    }
    const theirs = readIfThere(path)
    if (theirs === null) continue
    const holderPid = Number(theirs.split(' ')[0])
    if (isHeld(theirs)) return { acquired: false, holderPid }
    removeStale(path, theirs)
  }
}

/**
 * The pid of the running process that holds the lock; null when none does.
 * @param {string} path
 */
export function lockHolder(path) {
  const content = readIfThere(path)
  return content && isHeld(content) ? Number(content.split(' ')[0]) : null
}

/**
 * Waits for the lock. `onWait` is called once, with the holder's pid, when there is someone to wait for.
 * @param {string} path
 * @param {{ onWait?: (holderPid: number) => void, timeoutMs: number }} options
 * @returns {Promise<() => void>} the release
 */
export async function waitForLock(path, { onWait, timeoutMs }) {
  const deadline = Date.now() + timeoutMs
  for (let attempt = 0; ; attempt++) {
    const lock = tryLock(path)
    if (lock.acquired) return lock.release
    if (attempt === 0) onWait?.(lock.holderPid)
    if (Date.now() > deadline) {
      throw new Error(`process ${lock.holderPid} has held ${path} for ${Math.round(timeoutMs / 1000)} s`)
    }
    await delay(WAIT_STEP_MS)
  }
}

/**
 * When a process started, in the kernel's own unit; empty when it is gone or the system does not report it.
 * @param {number} pid
 * @returns {string}
 */
export function processStartTime(pid) {
  return readStat(pid)?.startTime ?? ''
}

/**
 * True while a process runs. A dead one whose parent never asked for its end does not count.
 * @param {number} pid
 * @param {string} startTime as `processStartTime` gave it; empty when it is not known
 */
export function isRunning(pid, startTime) {
  if (!Number.isInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
  } catch (error) {
    if (error.code === 'ESRCH') return false
  }
  const stat = readStat(pid)
  if (!stat) return true
  return stat.state !== 'Z' && (startTime === '' || stat.startTime === startTime)
}

/**
 * The parent of a process; null when the process is gone or the system does not report it.
 * @param {number} pid
 */
export function parentOf(pid) {
  return readStat(pid)?.parent ?? null
}

function readStat(pid) {
  const text = readIfThere(`/proc/${pid}/stat`)
  if (text === null) return null
  // The second field is the command in parentheses and may hold anything. The state is the third field,
  // the parent the fourth, the start time the 22nd.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return { state: fields[0], parent: Number(fields[1]), startTime: fields[19] ?? '' }
}

function isHeld(content) {
  const [pid = '', startTime = ''] = content.trim().split(' ')
  // A file still empty belongs to someone who is writing it at this moment.
  return content === '' || isRunning(Number(pid), startTime)
}

/** Moves the stale file away first, so that of two takers only one succeeds and a fresh lock is put back. */
function removeStale(path, staleContent) {
  const aside = `${path}.${process.pid}.stale`
  try {
    renameSync(path, aside)
  } catch (error) {
    if (error.code === 'ENOENT') return
    throw error
  }
  if (readIfThere(aside) === staleContent) rmSync(aside, { force: true })
  else renameSync(aside, path)
}

function releaseLock(path, mine) {
  if (readIfThere(path) === mine) rmSync(path, { force: true })
}

function readIfThere(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'ESRCH') return null
    throw error
  }
}
