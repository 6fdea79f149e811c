import { StartError } from '../../core/kernel/errors.ts'

const ADDRESS_PROBLEMS: Record<string, string> = {
  EADDRINUSE: 'something else listens there',
  EACCES: 'this user may not listen there',
  EADDRNOTAVAIL: 'this machine has no such address',
}

/**
 * When the start fails, writes one line to standard error and exits with code 1. The line has plain words for a failure
 * that the operator can fix and a stack for others. Returns a function to call once the process has started.
 */
export function explainFailedStart(name: string): () => void {
  const onFailure = (error: unknown) => {
    process.stderr.write(`${name} cannot start: ${startFailure(error)}\n`)
    process.exit(1)
  }
  process.on('uncaughtException', onFailure)
  return () => process.off('uncaughtException', onFailure)
}

/** The text for a failed start. */
export function startFailure(error: unknown): string {
  if (error instanceof StartError) return error.message
  const { code, syscall, address, port, stack } = (error ?? {}) as NodeJS.ErrnoException & {
    address?: string
    port?: number
  }
  const problem = syscall === 'listen' && code !== undefined && ADDRESS_PROBLEMS[code]
  if (problem) return `it cannot listen on ${address}:${port}, ${problem}`
  return stack ?? String(error)
}
