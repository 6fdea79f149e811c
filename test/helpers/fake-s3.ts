import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/**
 * A bucket in memory behind as much of S3's HTTP API as the store of bodies uses: put, get, list, delete of many, and
 * uploads in parts. It checks no signatures. `objects` and `uploads` are what it holds.
 */
export async function startFakeS3() {
  const objects = new Map<string, { bytes: Buffer; modifiedAt: Date }>()
  const uploads = new Map<string, { key: string; parts: Map<number, Buffer>; initiated: Date }>()
  let failing = false

  const answer = async (request: IncomingMessage): Promise<{ status: number; body?: string | Buffer }> => {
    const url = new URL(request.url ?? '', 'http://bucket')
    const [, , ...segments] = url.pathname.split('/')
    const key = decodeURIComponent(segments.join('/'))
    const query = url.searchParams
    const uploadId = query.get('uploadId') ?? ''
    if (failing) return { status: 503, body: errorXml('SlowDown') }
    if (!request.headers.authorization?.startsWith('AWS4-HMAC-SHA256 Credential=')) return { status: 403 }
    switch (request.method) {
      case 'PUT': {
        const bytes = await bytesOf(request)
        const upload = uploads.get(uploadId)
        if (upload) upload.parts.set(Number(query.get('partNumber')), bytes)
        else objects.set(key, { bytes, modifiedAt: new Date() })
        return { status: 200 }
      }
      case 'GET': {
        const prefix = query.get('prefix') ?? ''
        if (query.has('uploads')) return { status: 200, body: uploadsXml(uploads) }
        if (query.has('list-type')) return { status: 200, body: listXml(objects, prefix) }
        const found = objects.get(key)
        return found ? { status: 200, body: found.bytes } : { status: 404, body: errorXml('NoSuchKey') }
      }
      case 'POST': {
        const body = await text(request)
        if (query.has('delete')) {
          for (const [, name] of body.matchAll(/<Key>([^<]+)<\/Key>/g)) objects.delete(name!)
          return { status: 200, body: '<DeleteResult/>' }
        }
        if (query.has('uploads')) {
          const id = `upload-${uploads.size + 1}`
          uploads.set(id, { key, parts: new Map(), initiated: new Date() })
          return { status: 200, body: xml('InitiateMultipartUploadResult', `<UploadId>${id}</UploadId>`) }
        }
        const { parts } = uploads.get(uploadId)!
        const inOrder = [...parts].sort(([one], [other]) => one - other).map(([, bytes]) => bytes)
        objects.set(key, { bytes: Buffer.concat(inOrder), modifiedAt: new Date() })
        uploads.delete(uploadId)
        return { status: 200, body: xml('CompleteMultipartUploadResult', `<Key>${key}</Key>`) }
      }
      default:
        uploads.delete(uploadId)
        return { status: 204 }
    }
  }
  const server = createServer((request, response) => {
    answer(request).then(
      ({ status, body = '' }) => response.writeHead(status, { etag: '"0"' }).end(body),
      () => response.destroy(),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    objects,
    uploads,
    fail: (fails: boolean): void => {
      failing = fails
    },
    close: (): Promise<void> =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** Small bodies may come as `aws-chunked`: a length in hexadecimal before every chunk. */
async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part)
  const all = Buffer.concat(parts)
  if (!request.headers['content-encoding']?.includes('aws-chunked')) return all
  const chunks: Buffer[] = []
  for (let at = 0; ; ) {
    const end = all.indexOf('\r\n', at)
    const length = Number.parseInt(all.toString('latin1', at, end), 16)
    if (length === 0) return Buffer.concat(chunks)
    chunks.push(all.subarray(end + 2, end + 2 + length))
    at = end + 2 + length + 2
  }
}

const xml = (name: string, content: string): string =>
  `<?xml version="1.0" encoding="UTF-8"?><${name}>${content}</${name}>`
const errorXml = (code: string): string => xml('Error', `<Code>${code}</Code><Message>no</Message>`)

const listXml = (objects: Map<string, { bytes: Buffer; modifiedAt: Date }>, prefix: string): string =>
  xml(
    'ListBucketResult',
    [...objects]
      .filter(([key]) => key.startsWith(prefix))
      .map(
        ([key, { bytes, modifiedAt }]) =>
          `<Contents><Key>${key}</Key><Size>${bytes.length}</Size><LastModified>${modifiedAt.toISOString()}</LastModified></Contents>`,
      )
      .join(''),
  )

const uploadsXml = (uploads: Map<string, { key: string; initiated: Date }>): string =>
  xml(
    'ListMultipartUploadsResult',
    [...uploads]
      .map(
        ([id, { key, initiated }]) =>
          `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${initiated.toISOString()}</Initiated></Upload>`,
      )
      .join(''),
  )
