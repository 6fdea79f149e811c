import { spawn } from 'node:child_process'

const KEPT_OUTPUT_CHARACTERS = 20_000
/** How often a line is written where the output is not a terminal. */
const LINE_EVERY_MS = 5000
const TICK_MS = 250

/**
 * Runs a process to its end, silently, and returns what it wrote to standard output. Rejects with the tail of all its
 * output when it fails. It is killed when this process exits.
 * @param {string} command
 * @param {string[]} args
 * @param {import('node:child_process').SpawnOptions} [options]
 * @returns {Promise<string>}
 */
export function runProcess(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      killSignal: 'SIGKILL',
      ...options,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const kill = () => child.kill('SIGKILL')
    process.once('exit', kill)
    let stdout = ''
    let tail = ''
    const keep = (chunk) => {
      tail = (tail + chunk).slice(-KEPT_OUTPUT_CHARACTERS)
    }
    child.stdout.setEncoding('utf8').on('data', (chunk) => {
      stdout += chunk
      keep(chunk)
    })
    child.stderr.on('data', keep)
    child.on('error', reject)
    child.on('close', (code, signal) => {
      process.removeListener('exit', kill)
      if (code === 0) resolve(stdout)
      else reject(new Error(`${command} ${args.join(' ')} ended with ${signal ?? code}:\n${tail}`))
    })
  })
}

/**
 * Shows that a long step is alive: one line that counts on a terminal, a line every few seconds elsewhere.
 * Written to standard error, so that a command's own output stays clean.
 * @template T
 * @param {string} label
 * @param {() => Promise<T>} step
 * @returns {Promise<T>}
 */
export async function withProgress(label, step) {
  const { stderr } = process
  const startedAt = Date.now()
  const line = () => `  ${label} … ${Math.round((Date.now() - startedAt) / 1000)} s`
  if (!stderr.isTTY) stderr.write(`  ${label} …\n`)
  const timer = stderr.isTTY
    ? setInterval(() => stderr.write(`\r\u001b[2K${line()}`), TICK_MS)
    : setInterval(() => stderr.write(`${line()}\n`), LINE_EVERY_MS)
  const clear = stderr.isTTY ? '\r\u001b[2K' : ''
  try {
    const result = await step()
    stderr.write(`${clear}  ${label}: done in ${((Date.now() - startedAt) / 1000).toFixed(1)} s\n`)
    return result
  } catch (error) {
    stderr.write(`${clear}  ${label}: failed\n`)
    throw error
  } finally {
    clearInterval(timer)
  }
}
