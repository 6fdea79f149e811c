import { causeOf } from '../observability/logger.ts'

/**
 * Runs parts of a job one after the other, so that none depends on another: if some fail, the others have run, and an Error
 * names them with their messages. Once the signal is aborted no further part begins.
 */
export async function runAllParts(
  parts: Readonly<Record<string, (stopping: AbortSignal) => Promise<unknown>>>,
  stopping: AbortSignal,
): Promise<void> {
  const failed = new Map<string, unknown>()
  for (const [name, run] of Object.entries(parts)) {
    if (stopping.aborted) break
    try {
      await run(stopping)
    } catch (error) {
      failed.set(name, error)
    }
  }
  if (failed.size === 0) return
  const messages = [...failed].map(([name, error]) => `${name} (${causeOf(error)})`)
  throw new AggregateError(failed.values(), `failed: ${messages.join(', ')}`)
}
