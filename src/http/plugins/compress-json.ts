import compress from '@fastify/compress'
import type { FastifyInstance } from 'fastify'

/** Compresses the longer JSON and CSV responses of a scope. Not for calls: their answers are short, or streams. */
export async function compressJson(scope: FastifyInstance): Promise<void> {
  // Requests come as they are: a compressed body is refused.
  await scope.register(compress, { globalDecompression: false })
}
