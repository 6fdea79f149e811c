import { createHash } from 'node:crypto'
import compress from '@fastify/compress'
import type { FastifyInstance } from 'fastify'

/**
 * Compresses the longer JSON and CSV responses of a scope, and sends unchanged ones as 304. Not for calls, whose
 * responses are short or streams.
 */
export async function compressJson(scope: FastifyInstance): Promise<void> {
  tagUnchangedJson(scope)
  // Compressed request bodies are rejected.
  await scope.register(compress, { globalDecompression: false })
}

const TAG_BYTES = 12

/**
 * Tags JSON responses for pages with a hash, and returns 304 if the client has the same one, so that polled data is
 * sent only after a change. Weak tags, since the same response may be compressed. Register it before the plugin that
 * compresses.
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
