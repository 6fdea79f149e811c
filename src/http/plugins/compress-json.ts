import { createHash } from 'node:crypto'
import compress from '@fastify/compress'
import type { FastifyInstance } from 'fastify'

/** Compresses the longer JSON and CSV responses of a scope, and sends what did not change as 304. Not for calls: their answers are short, or streams. */
export async function compressJson(scope: FastifyInstance): Promise<void> {
  tagUnchangedJson(scope)
  // Requests come as they are: a compressed body is refused.
  await scope.register(compress, { globalDecompression: false })
}

const TAG_BYTES = 12

/**
 * Tags JSON that a page reads with a hash of it, and answers 304 to whoever has it already: what is polled is sent when it
 * has changed. Weak, since the same answer may be compressed. Register it before the plugin that compresses.
 */
function tagUnchangedJson(scope: FastifyInstance): void {
  scope.addHook('onSend', async (request, reply, payload) => {
    if (request.method !== 'GET' || reply.statusCode !== 200 || typeof payload !== 'string') return payload
    const hash = createHash('sha256').update(payload).digest().subarray(0, TAG_BYTES).toString('base64url')
    const tag = `W/"${hash}"`
    reply.header('etag', tag)
    if (request.headers['if-none-match'] !== tag) return payload
    reply.code(304).removeHeader('content-type')
    return ''
  })
}
