import { spawn } from 'node:child_process'

const KEPT_OUTPUT_CHARACTERS = 20_000

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
