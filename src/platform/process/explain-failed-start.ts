import { StartError } from '../../core/kernel/start-error.ts'

const ADDRESS_PROBLEMS: Record<string, string> = {
  EADDRINUSE: 'something else listens there',
  EACCES: 'this user may not listen there',
  EADDRNOTAVAIL: 'this machine has no such address',
}

/**
 * Ends the process with one line on standard error, and exit code 1, when its start fails: in words for what its
 * operator can mend, with the stack for what he cannot. Returns how to say that it has started.
 */
export function explainFailedStart(name: string): () => void {
  const onFailure = (error: unknown) => {
    process.stderr.write(`${name} cannot start: ${startFailure(error)}\n`)
    process.exit(1)
  }
  process.on('uncaughtException', onFailure)
  return () => process.off('uncaughtException', onFailure)
}

/** Says why a start failed. */
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
