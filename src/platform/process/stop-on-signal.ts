import type { Logger } from '../observability/logger.ts'

/** After the grace for calls: to close every client. */
const CLOSING_MS = 5_000

/**
 * Stops the process on SIGTERM or SIGINT, once. It ends within the grace and five seconds, whatever is away: exit code
 * 0 when everything was closed, 1 when not. A second signal ends it at once.
 */
export function stopOnSignal(options: {
  /** What is stopping, for the log. */
  name: string
  /** How long calls may run on. */
  graceMs: number
  stop: () => Promise<void>
  /** What is still there, for the log line of a stop that took too long. */
  left?: () => Record<string, unknown>
  logger: Logger
  process?: Pick<NodeJS.Process, 'on' | 'exit'>
}): void {
  const { name, graceMs, stop, left = () => ({}), logger, process: target = process } = options
  let stopping = false
  const onSignal = (signal: string): void => {
    if (stopping) {
      logger.warn({ signal, ...left() }, `${name} ends at once: a second signal`)
      target.exit(1)
      return
    }
    stopping = true
    logger.info({ signal, ...left() }, `${name} stops`)
    setTimeout(() => {
      logger.error(left(), `${name} did not stop in time and ends`)
      target.exit(1)
    }, graceMs + CLOSING_MS)
    stop().then(
      () => target.exit(0),
      (error: unknown) => {
        logger.error({ err: error }, `${name} did not stop cleanly`)
        target.exit(1)
      },
    )
  }
  target.on('SIGTERM', onSignal)
  target.on('SIGINT', onSignal)
}
