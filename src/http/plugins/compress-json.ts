import compress from '@fastify/compress'
import type { FastifyInstance } from 'fastify'
import { tagUnchangedJson } from './unchanged-json.ts'

/** Compresses the longer JSON and CSV responses of a scope, and sends what did not change as 304. Not for calls: their answers are short, or streams. */
export async function compressJson(scope: FastifyInstance): Promise<void> {
  tagUnchangedJson(scope)
  // Requests come as they are: a compressed body is refused.
  await scope.register(compress, { globalDecompression: false })
}
