import type { ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'

/** Takes the response over from Fastify and sends the head of a stream of server-sent events. */
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
