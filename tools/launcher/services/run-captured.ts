import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const execute = promisify(execFile)
const TIMEOUT_MS = 180_000
const OUTPUT_LIMIT_BYTES = 16 * 1024 * 1024

/** Runs a program to its end and returns what it wrote to standard output. Rejects when it fails. */
export async function runCaptured(
  command: string,
  args: string[],
  options: { cwd?: string; env?: Record<string, string | undefined> } = {},
): Promise<string> {
  const env = { ...(options.env ?? process.env), LC_ALL: 'C' }
  const { stdout } = await execute(command, args, {
    ...options,
    env,
    timeout: TIMEOUT_MS,
    maxBuffer: OUTPUT_LIMIT_BYTES,
  })
  return stdout
}
