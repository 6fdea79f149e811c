import { Readable } from 'node:stream'
import {
  AbortMultipartUploadCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  NoSuchKey,
  S3Client,
} from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import type { ObjectStorage } from './object-storage.ts'

export interface S3Settings {
  bucket: string
  /** Prefix of every key, for a bucket that is shared. */
  prefix: string
  region: string
  /** Endpoint of a compatible service, addressed by path; null: AWS. */
  endpoint: string | null
}

const KEYS_PER_DELETE = 1_000
const CONNECT_TIMEOUT_MS = 3_000
const REQUEST_TIMEOUT_MS = 30_000

/**
 * Stores objects in a bucket of S3 or a compatible service. The SDK finds the credentials: `AWS_ACCESS_KEY_ID` and
 * `AWS_SECRET_ACCESS_KEY`, or the role of the machine.
 */
export function createS3Storage({ bucket, prefix, region, endpoint }: S3Settings): ObjectStorage {
  const client = new S3Client({
    region,
    ...(endpoint !== null && { endpoint, forcePathStyle: true }),
    // Some compatible services do not support checksum trailers; sealed chunks carry their own tags.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: CONNECT_TIMEOUT_MS, requestTimeout: REQUEST_TIMEOUT_MS },
  })
  const target = (key: string) => ({ Bucket: bucket, Key: prefix + key })
  return {
    async write(key, content) {
      const Body = Readable.from(content, { objectMode: false })
      // Uploads in parts of 5 MB; a shorter body is one request. A failed upload is aborted.
      await new Upload({ client, params: { ...target(key), Body }, queueSize: 1 }).done()
    },
    async read(key) {
      try {
        const { Body } = await client.send(new GetObjectCommand(target(key)))
        return Body as Readable
      } catch (error) {
        if (error instanceof NoSuchKey) return null
        throw error
      }
    },
    async *list(keyPrefix) {
      let from: string | undefined
      do {
        const page = await client.send(
          new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix + keyPrefix, ContinuationToken: from }),
        )
        yield (page.Contents ?? []).map(({ Key = '', Size = 0, LastModified }) => ({
          key: Key.slice(prefix.length),
          bytes: Size,
          modifiedAt: Number(LastModified ?? 0),
        }))
        from = page.NextContinuationToken
      } while (from !== undefined)
    },
    async remove(keys) {
      for (let start = 0; start < keys.length; start += KEYS_PER_DELETE) {
        const Objects = keys.slice(start, start + KEYS_PER_DELETE).map((key) => ({ Key: prefix + key }))
        const { Errors } = await client.send(
          new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects, Quiet: true } }),
        )
        if (Errors && Errors.length > 0)
          throw new Error(`${Errors.length} bodies were not deleted: ${Errors[0]?.Code}`)
      }
    },
    async removeUnfinished(before) {
      const { Uploads = [] } = await client.send(
        new ListMultipartUploadsCommand({ Bucket: bucket, Prefix: prefix }),
      )
      for (const { Key, UploadId, Initiated } of Uploads) {
        if (Number(Initiated ?? 0) >= before) continue
        await client.send(new AbortMultipartUploadCommand({ Bucket: bucket, Key, UploadId }))
      }
    },
    freeBytes: async () => null,
    close: () => client.destroy(),
  }
}
