import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { ApiError } from '../../core/kernel/errors.ts'
import type { BodyStore } from '../../platform/body-store/body-store.ts'
import type { StoredPiece, WholeBody } from './completion-writer.ts'

interface FileResponse {
  files: Pick<BodyStore, 'open'>
  /** Hears that the answer cannot be delivered, before its client does. */
  lost: () => void
  /** Milliseconds, of any beginning. Absent: those of this process. */
  clock?: () => number
}

/** A client that reads nothing for so long is cut off: the files of its answer take room. */
const UNREAD_MS = 60_000
/**
 * Once its client has kept an answer waiting for so long in all, a file that breaks off may do so because it was not read:
 * whoever serves it may close a connection that stands still. The client still pays.
 */
const CLIENT_WAITS_MS = 5_000

/**
 * Sends a body with files. Its length is announced, so a client whose answer breaks off cannot take it for whole. Throws
 * ApiError `internal_error` where a file is not to be had.
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
    throw new ApiError('internal_error', 'The answer was lost inside the gateway. Retry the request.', {
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
  if (!file) throw new Error('a file of an answer is gone')
  return file
}
