import type { Logger } from '../observability/logger.ts'

/** Time to close all clients, after the grace period for calls. */
const CLOSING_MS = 5_000

/**
 * Stops the process on SIGTERM or SIGINT, once. It ends within the grace period and five seconds, even if services are
 * away: exit code 0 when everything was closed, 1 otherwise. A second signal ends it at once.
 */
export function stopOnSignal(options: {
  /** Name of the process, for the log. */
  name: string
  /** How long running calls may continue. */
  graceMs: number
  stop: () => Promise<void>
  /** Remaining work, for the log line of a stop that took too long. */
  left?: () => Record<string, unknown>
  logger: Logger
  process?: Pick<NodeJS.Process, 'on' | 'exit'>
}): void {
  const { name, graceMs, stop, left = () => ({}), logger, process: target = process } = options
  let stopping = false
  const onSignal = (signal: string): void => {
    if (stopping) {
      logger.warn({ signal, ...left() }, `${name} exiting at once after a second signal`)
      target.exit(1)
      return
    }
    stopping = true
    logger.info({ signal, ...left() }, `${name} stopping`)
    setTimeout(() => {
      logger.error(left(), `${name} stop timed out, exiting`)
      target.exit(1)
    }, graceMs + CLOSING_MS)
    stop().then(
      () => target.exit(0),
      (error: unknown) => {
        logger.error({ err: error }, `${name} stop failed`)
        target.exit(1)
      },
    )
  }
  target.on('SIGTERM', onSignal)
  target.on('SIGINT', onSignal)
}
