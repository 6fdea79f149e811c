import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { ApiError } from '../../core/kernel/errors.ts'
import type { BodyStore } from '../../platform/body-store/body-store.ts'
import type { StoredPiece, WholeBody } from './completion-writer.ts'

interface FileResponse {
  files: Pick<BodyStore, 'open'>
  /** Called if the response cannot be delivered, before its client is disconnected. */
  lost: () => void
  /** Monotonic milliseconds; by default those of this process. */
  clock?: () => number
}

/** A client that reads no data for this long is disconnected, because the files of its response take storage. */
const UNREAD_MS = 60_000
/**
 * Once the client has paused its response for this long in total, a file that fails may fail because it was not read:
 * its server may close an idle connection. The call is then still charged.
 */
const CLIENT_WAITS_MS = 5_000

/**
 * Sends a body with files. It has a content length, so that a client notices an interrupted response. Throws ApiError
 * `internal_error` if a file is missing.
 */
export async function sendWholeBody(
  { contentType, pieces }: WholeBody,
  reply: FastifyReply,
  { files, lost, clock = () => performance.now() }: FileResponse,
  unreadMs = UNREAD_MS,
): Promise<FastifyReply> {
  const opened = new Map<StoredPiece, Readable>()
  const close = () => {
    for (const file of opened.values()) file.destroy()
  }
  try {
    for (const piece of pieces) if (typeof piece !== 'string') opened.set(piece, await fileOf(piece, files))
  } catch (cause) {
    close()
    lost()
    throw new ApiError('internal_error', 'The response was lost inside the gateway. Retry the request.', {
      cause,
    })
  }
  async function* chunks(): AsyncGenerator<Uint8Array> {
    let waitedMs = 0
    try {
      for (const piece of pieces) {
        for await (const chunk of typeof piece === 'string' ? [Buffer.from(piece)] : opened.get(piece)!) {
          const askedAt = clock()
          yield chunk
          waitedMs += clock() - askedAt
        }
      }
    } catch (error) {
      if (waitedMs < CLIENT_WAITS_MS) lost()
      throw error
    } finally {
      close()
    }
  }
  const bytes = pieces.reduce(
    (sum, piece) => sum + (typeof piece === 'string' ? Buffer.byteLength(piece) : piece.bytes),
    0,
  )
  reply.type(contentType).header('content-length', bytes)
  reply.raw.setTimeout(unreadMs, () => reply.raw.destroy())
  return reply.send(Readable.from(chunks(), { objectMode: false }))
}

async function fileOf({ ref }: StoredPiece, files: FileResponse['files']): Promise<Readable> {
  const file = await files.open(ref)
  if (!file) throw new Error('a file of a response is missing')
  return file
}
