import type { IncomingMessage } from 'node:http'
import { Busboy, type BusboyFileStream, type BusboyHeaders } from '@fastify/busboy'
import type { FastifyInstance } from 'fastify'
import { ApiError } from '../core/kernel/errors.ts'
import type { BodyOwner, BodyStore, StoredBody } from '../platform/body-store/body-store.ts'
import type { Logger } from '../platform/observability/logger.ts'
import { bodyStalled, watchProgress } from './read-body.ts'

export interface UploadLimits {
  fields: number
  /** Of one field's value. */
  fieldBytes: number
  files: number
  /** Of one file. */
  fileBytes: number
  /** Of the whole body. */
  bodyBytes: number
}

export interface UploadedFile extends StoredBody {
  /** The form field's name, without a trailing `[]`. */
  field: string
  /** As the client sent it; empty if it did not. */
  fileName: string
  /** Its first bytes, for detecting the format. */
  head: Buffer
}

export interface Upload {
  /** The values of each field in order, by the field's name without a trailing `[]`. */
  fields: ReadonlyMap<string, readonly string[]>
  /** In the order of the form. */
  files: readonly UploadedFile[]
}

export interface UploadDependencies {
  store: Pick<BodyStore, 'put' | 'remove' | 'reserve'>
  logger: Logger
  /** A form that sends no data for this long is refused with 408. */
  idleMs: number
}

const FIELD_NAME_MAX = 100
const HEADERS_PER_PART = 20
const HEADER_BYTES_PER_PART = 8 * 1024
/** Enough for most tags with a picture in front of MPEG audio. */
const HEAD_BYTES = 64 * 1024

/** Makes the routes of this plugin accept only forms: their handlers read them with `readUpload`. */
export function takeForms(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('multipart/form-data', (_request, _payload, done) => done(null))
  app.addContentTypeParser('*', (_request, _payload, done) => done(notAForm()))
}

/**
 * Reads a form: fields into memory, files into the store under the names `file-0`, `file-1`, …, all within the limits
 * and within the time limit of a body. If anything fails or the client disconnects, the stored files are removed.
 * Throws ApiError: 400, 408, 413 or 415, and the errors of the store.
 */
export async function readUpload(
  { raw }: { raw: IncomingMessage },
  owner: BodyOwner,
  limits: UploadLimits,
  { store, logger, idleMs }: UploadDependencies,
): Promise<Upload> {
  const { 'content-length': length = limits.bodyBytes } = raw.headers
  if (Number(length) > limits.bodyBytes) throw formTooLarge(limits)
  const parser = openParser(raw.headers, limits)
  const read = Promise.withResolvers<void>()
  // It may reject before it is awaited.
  read.promise.catch(() => undefined)
  const cutOff = (cause?: unknown) => {
    if (!raw.complete) read.reject(invalid('The form is incomplete.', cause))
  }
  raw.on('error', cutOff).on('close', cutOff)
  // The rest of a refused body is read and dropped, so that the client reads the response.
  const room = await store.reserve(owner.accountId, Number(length)).catch((error: unknown) => {
    raw.off('error', cutOff).off('close', cutOff).resume()
    throw error
  })
  const fields = new Map<string, string[]>()
  const files: UploadedFile[] = []
  const storing: Promise<unknown>[] = []
  const arriving = new Set<BusboyFileStream>()

  parser.on('field', (name: string | undefined, value, _nameTruncated, isTruncated) => {
    if (isTruncated)
      read.reject(tooLarge(`The field \`${shown(name)}\` has more than ${limits.fieldBytes} bytes.`))
    else if (!name || name.length > FIELD_NAME_MAX)
      read.reject(invalid('A field of the form has no name, or a long one.'))
    else listOf(fields, nameOf(name)).push(value)
  })
  parser.on(
    'file',
    (name: string | undefined, content, fileName: string | undefined, _encoding, mediaType) => {
      arriving.add(content)
      content.once('close', () => arriving.delete(content))
      // The store handles the error, and may have caused it.
      content.on('error', () => undefined)
      if (!name || name.length > FIELD_NAME_MAX) {
        read.reject(invalid('A file of the form has no field name, or its field name is too long.'))
        return
      }
      const index = storing.length
      const head: Buffer[] = []
      const stored = store
        .put(owner, `file-${index}`, withHead(content, head), { maxBytes: limits.fileBytes, mediaType, room })
        .then((body) => {
          const file = { field: nameOf(name), fileName: fileName ?? '', head: Buffer.concat(head), ...body }
          files[index] = file
        })
      stored.catch((error: unknown) => read.reject(error instanceof ApiError ? error : notMultipart(error)))
      storing.push(stored)
    },
  )
  parser.on('fieldsLimit', () => read.reject(invalid(`A form takes at most ${limits.fields} fields.`)))
  parser.on('filesLimit', () => read.reject(invalid(`A form takes at most ${limits.files} files.`)))
  parser.on('error', (error: unknown) => read.reject(notMultipart(error)))
  parser.on('finish', () => Promise.all(storing).then(() => read.resolve(), read.reject))

  let bytes = 0
  const weigh = (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > limits.bodyBytes) read.reject(formTooLarge(limits))
  }
  raw.on('data', weigh).pipe(parser)
  const endWatch = watchProgress(raw, idleMs, () => read.reject(bodyStalled(idleMs)))
  try {
    await read.promise
    return { fields, files }
  } catch (error) {
    raw.unpipe(parser)
    raw.resume()
    for (const content of arriving) content.destroy()
    await Promise.allSettled(storing)
    await store.remove(owner).catch((failure: unknown) => {
      logger.error({ err: failure, callId: owner.callId }, 'files of a refused upload not removed')
    })
    throw error
  } finally {
    endWatch()
    room.release()
    raw.off('data', weigh).off('error', cutOff).off('close', cutOff)
  }
}

function openParser(headers: IncomingMessage['headers'], limits: UploadLimits) {
  if (!/^multipart\/form-data\b/i.test(headers['content-type'] ?? '')) throw notAForm()
  try {
    return new Busboy({
      headers: headers as BusboyHeaders,
      limits: {
        fields: limits.fields,
        fieldSize: limits.fieldBytes,
        files: limits.files,
        // Fields and files together, and one more, which shows whether there are too many of either.
        parts: limits.fields + limits.files + 1,
        headerPairs: HEADERS_PER_PART,
        headerSize: HEADER_BYTES_PER_PART,
      },
    })
  } catch (error) {
    throw invalid('The `Content-Type` of the form has no `boundary`.', error)
  }
}

async function* withHead(content: AsyncIterable<Buffer>, head: Buffer[]): AsyncGenerator<Buffer> {
  let length = 0
  for await (const chunk of content) {
    if (length < HEAD_BYTES) head.push(Buffer.from(chunk.subarray(0, HEAD_BYTES - length)))
    length += chunk.length
    yield chunk
  }
}

/** Client libraries send arrays as `name[]`. */
const nameOf = (name: string): string => (name.endsWith('[]') ? name.slice(0, -2) : name)

function listOf(fields: Map<string, string[]>, name: string): string[] {
  const known = fields.get(name)
  if (known) return known
  const values: string[] = []
  fields.set(name, values)
  return values
}

const shown = (name: string | undefined): string => (name ?? '').slice(0, FIELD_NAME_MAX)

const notAForm = (): ApiError =>
  new ApiError('unsupported_media_type', 'Send the body as `Content-Type: multipart/form-data`.')
const invalid = (message: string, cause?: unknown): ApiError =>
  new ApiError('invalid_request', message, { cause })
const notMultipart = (cause: unknown): ApiError => invalid('The form is not valid multipart data.', cause)
const tooLarge = (message: string): ApiError => new ApiError('request_too_large', message)
const formTooLarge = ({ bodyBytes }: UploadLimits): ApiError =>
  tooLarge(`The form has more than ${bodyBytes} bytes. Send less.`)
