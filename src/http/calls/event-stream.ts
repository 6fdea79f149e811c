import type { ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'

/** Takes over the response from Fastify and sends the headers of a stream of server-sent events. */
export function startEventStream(reply: FastifyReply, headers: Record<string, string> = {}): ServerResponse {
  reply.hijack()
  reply.raw.writeHead(200, {
    ...(reply.getHeaders() as Record<string, string>),
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store, no-transform',
    'x-accel-buffering': 'no',
    ...headers,
  })
  return reply.raw
}

/** What is released when a response closes; it has one listener for all of them, as Node warns of more than ten. */
const releases = new WeakMap<ServerResponse, Array<() => void>>()

/**
 * Calls `release` once when a response closes: after its last byte, after an error, or because its client
 * disconnected. Calls it at once if the response is closed already: a client may disconnect during any `await` before
 * its request gets here, and a closed response emits no further `close`. Everything that is kept for the length of a
 * response (slots, listeners, timers, a running call) is released here only.
 */
export function whenResponseCloses(response: ServerResponse, release: () => void): void {
  if (response.closed || response.destroyed) return release()
  const known = releases.get(response)
  if (known) return void known.push(release)
  const all = [release]
  releases.set(response, all)
  response.once('close', () => {
    for (const each of all) each()
  })
}
