import type { ServerResponse } from 'node:http'

/**
 * Calls `release` once when a response is over, however it ends: answered to its last byte, broken off, or its
 * client gone. Calls it at once where that happened already: a client may leave during any `await` before its
 * request gets here, and a closed response never says `close` again. Whatever is held for the length of a
 * response (slots, listeners, timers, a running call) is given back here and nowhere else.
 */
export function whenResponseCloses(response: ServerResponse, release: () => void): void {
  if (response.closed || response.destroyed) release()
  else response.once('close', release)
}
