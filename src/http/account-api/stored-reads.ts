import type { FastifyRequest } from 'fastify'
import {
  bytesToRead,
  type ReadResponse,
  type StoredResponseReader,
  type StoredResponseStore,
  type WantedResponse,
} from '../../calls/stored-responses/stored-response-store.ts'
import { callingKey } from '../plugins/authenticate.ts'

/** The responses that a request may read: its key's own, or its account's where the key has the scope for it. */
export function readerOf(request: FastifyRequest): StoredResponseReader {
  const { accountId, keyId, scopes } = callingKey(request)
  return { accountId, keyId: scopes.includes('responses') ? null : keyId }
}

/**
 * Reads stored responses for a request. They count like a body that it sends: within the requests and bytes of its account
 * in a minute, and within the bytes in flight until its response is over, read by its client or not. Throws ApiError 429
 * or 503 before anything is read.
 */
export async function readStored(
  request: FastifyRequest,
  { store, accountId }: { store: Pick<StoredResponseStore, 'read'>; accountId: string },
  wanted: readonly WantedResponse[],
): Promise<ReadResponse[]> {
  const bytes = wanted.reduce((sum, each) => sum + bytesToRead(each), 0)
  request.meter(accountId, bytes)
  request.bodyReservation?.grow(bytes)
  return store.read(accountId, wanted)
}

/** Some JSON values as one array. */
export function jsonArrayOf(values: readonly Buffer[]): Buffer {
  const comma = Buffer.from(',')
  const parts = values.flatMap((value, index) => (index === 0 ? [value] : [comma, value]))
  return Buffer.concat([Buffer.from('['), ...parts, Buffer.from(']')])
}
