import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import type { CallFile } from '../../core/calls/kinds/form-fields.ts'

/** A form that is sent: texts and files of the call. The files are read while they are sent. */
export interface FormBody {
  contentType: string
  bytes: number
  pieces: ReadonlyArray<string | CallFile>
}

export interface FormFile extends CallFile {
  /** The name of the form field. */
  field: string
}

const BOUNDARY_BYTES = 12

/** Encodes a form. The gateway chooses the names of fields and files, so that they need no escapes. */
export function formBody(
  fields: ReadonlyArray<readonly [name: string, value: string]>,
  files: readonly FormFile[],
): FormBody {
  const boundary = `form-${randomBytes(BOUNDARY_BYTES).toString('hex')}`
  const head = (disposition: string) => `--${boundary}\r\ncontent-disposition: form-data; ${disposition}\r\n`
  const pieces = [
    ...fields.map(([name, value]) => `${head(`name="${name}"`)}\r\n${value}\r\n`),
    ...files.flatMap((file) => [
      `${head(`name="${file.field}"; filename="${file.fileName}"`)}content-type: ${file.mediaType}\r\n\r\n`,
      file,
      '\r\n',
    ]),
    `--${boundary}--\r\n`,
  ]
  const bytes = pieces.reduce(
    (sum, piece) => sum + (typeof piece === 'string' ? Buffer.byteLength(piece) : piece.bytes),
    0,
  )
  return { contentType: `multipart/form-data; boundary=${boundary}`, bytes, pieces }
}

/**
 * The bytes of a form.
 * @param open opens a file; null if it was deleted
 * @param broken called with the error if a file cannot be read, which is no failure of the provider
 */
export function formStream(
  { pieces }: FormBody,
  open: (ref: string) => Promise<Readable | null>,
  broken: (error: unknown) => void,
): Readable {
  async function* bytes(): AsyncGenerator<Uint8Array> {
    for (const piece of pieces) {
      if (typeof piece === 'string') yield Buffer.from(piece)
      else yield* await opened(piece.ref)
    }
  }
  const opened = async (ref: string): Promise<Readable> => {
    const file = await open(ref)
    if (!file) throw new Error('a file of the call is gone')
    return file
  }
  async function* watched(): AsyncGenerator<Uint8Array> {
    try {
      yield* bytes()
    } catch (error) {
      broken(error)
      throw error
    }
  }
  return Readable.from(watched(), { objectMode: false })
}
