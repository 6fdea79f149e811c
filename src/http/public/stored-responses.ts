import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type {
  ReadResponse,
  StoredResponse,
  StoredResponseStore,
} from '../../calls/stored-responses/stored-response-store.ts'
import type { Surface, SurfaceId } from '../../core/api/surfaces/surface-registry.ts'
import { CALL_ERRORS } from '../../core/calls/call-errors.ts'
import {
  type ResponseObject,
  type ResponsePart,
  type StoredItem,
  shownItem,
  shownResponse,
} from '../../core/calls/responses-items.ts'
import { ApiError, invalid } from '../../core/kernel/errors.ts'
import { callIdOfResponse, responseIdOf } from '../../core/kernel/ids.ts'
import { readerOf, readStored } from '../account-api/stored-reads.ts'
import { parseStored } from '../bounded-parse.ts'
import { startEventStream, whenResponseCloses } from '../calls/event-stream.ts'
import { BEGINNING, eventText, responseEvents } from '../calls/response-events.ts'
import { OfId } from '../page.ts'
import { callingKey } from '../plugins/authenticate.ts'
import { createSlots } from '../slots.ts'

/** How often a stream checks whether its response has ended, and sends a keep-alive. */
const LOOK_EVERY_MS = 1_000
const STREAMS_MAX = 500
const STREAMS_PER_ACCOUNT_MAX = 50

const JSON_TYPE = 'application/json; charset=utf-8'

const RetrieveQuery = Type.Object({
  stream: Type.Optional(
    Type.Enum(['true', 'false'], { description: 'The events of the response, once it has ended' }),
  ),
  starting_after: Type.Optional(
    Type.Integer({ minimum: 0, description: 'With `stream`: the number of the last known event' }),
  ),
})
const ItemsQuery = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 20 }),
  order: Type.Enum(['asc', 'desc'], { default: 'desc' }),
  after: Type.Optional(Type.String({ description: 'The id of the last item of the page before' })),
})

/** The stored responses of a key: read, deleted, cancelled, and the items of their input. */
export const storedResponsesRoute =
  (path: string, { id: surface }: Pick<Surface, 'id'>): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { storedResponses: store } = app.calls
    const mayRead = (request: FastifyRequest, _reply: FastifyReply, done: () => void) => {
      callingKey(request)
      done()
    }
    const hooks = (resource: 'get' | 'delete' | 'cancel' | 'input-items') => {
      const id = surface.replace('.get', `.${resource}`) as SurfaceId
      return [app.requireKey, app.requireSurface(id), mayRead, app.weighBody]
    }
    const found = async (request: FastifyRequest, callId: string): Promise<StoredResponse> => {
      const response = await store.find(readerOf(request), callId)
      if (!response) throw noSuchResponse(callId)
      return response
    }
    const streams = createSlots({
      max: STREAMS_MAX,
      maxPerHolder: STREAMS_PER_ACCOUNT_MAX,
      holderIsFull: 'This account has streams of stored responses open. Wait for one to end.',
      allTaken: 'This gateway streams as many stored responses as it can. Retry shortly.',
    })

    const read = { summary: 'A stored response', params: OfId, querystring: RetrieveQuery }
    app.get(path, { onRequest: hooks('get'), schema: read }, async (request, reply) => {
      const id = callIdOfResponse(request.params.id)
      const { stream, starting_after: after = -1 } = request.query
      const response = await found(request, id)
      if (stream !== 'true')
        return reply.type(JSON_TYPE).send(await currentResponse(request, store, response))
      whenResponseCloses(reply.raw, streams.take(callingKey(request).accountId))
      await streamStoredResponse(request, reply, store, { id, after })
      return reply
    })

    const remove = { summary: 'Deletes a stored response; ends it if it runs', params: OfId }
    app.delete(path, { onRequest: hooks('delete'), schema: remove }, async (request) => {
      const id = callIdOfResponse(request.params.id)
      if (!(await store.delete(readerOf(request), id))) throw noSuchResponse(id)
      return { id: responseIdOf(id), object: 'response', deleted: true }
    })

    const cancel = { summary: 'Cancels a response in background', params: OfId }
    app.post(`${path}/cancel`, { onRequest: hooks('cancel'), schema: cancel }, async (request, reply) => {
      const id = callIdOfResponse(request.params.id)
      const response = await currentResponse(request, store, await found(request, id))
      if ((JSON.parse(response) as ResponseObject).background !== true)
        throw invalid(
          undefined,
          'Only a response in background can be cancelled. Close the connection of others.',
        )
      await store.cancel(readerOf(request), id)
      return reply.type(JSON_TYPE).send(await currentResponse(request, store, await found(request, id)))
    })

    const items = {
      summary: 'The items of the input of a stored response',
      params: OfId,
      querystring: ItemsQuery,
    }
    app.get(`${path}/input_items`, { onRequest: hooks('input-items'), schema: items }, async (request) => {
      const id = callIdOfResponse(request.params.id)
      const input = (await parseStored(
        (
          await partOf(request, store, await found(request, id), 'input')
        ).input,
      )) as StoredItem[]
      const { limit, order, after } = request.query
      const ordered = order === 'asc' ? input : input.toReversed()
      const from = after === undefined ? 0 : ordered.findIndex(({ id }) => id === after) + 1
      if (after !== undefined && from === 0)
        throw invalid('after', '`after` is not the id of an item of this input.')
      const data = ordered.slice(from, from + limit).map(shownItem)
      return {
        object: 'list',
        data,
        first_id: data[0]?.id ?? null,
        last_id: data.at(-1)?.id ?? null,
        has_more: from + limit < ordered.length,
      }
    })
  }

export function noSuchResponse(callId: string, param?: string): ApiError {
  const id = responseIdOf(callId).slice(0, 100)
  return new ApiError('not_found', `This account has no stored response with the id '${id}'.`, { param })
}

async function partOf(
  request: FastifyRequest,
  store: Pick<StoredResponseStore, 'read'>,
  found: StoredResponse,
  part: ResponsePart,
): Promise<ReadResponse> {
  const { accountId } = callingKey(request)
  const [read] = await readStored(request, { store, accountId }, [{ ...found, part }])
  if (!read) throw noSuchResponse(found.callId)
  return read
}

/** A stored response in its current state, JSON. It was written by this gateway, and is as long as its output. */
async function currentResponse(
  request: FastifyRequest,
  store: Pick<StoredResponseStore, 'read'>,
  found: StoredResponse,
): Promise<string> {
  const text = shownResponse((await partOf(request, store, found, 'response')).response.toString())
  switch (found.state) {
    case 'ended':
    case 'running':
      return text
    case 'cancelled':
      return JSON.stringify({ ...JSON.parse(text), status: 'cancelled' })
    case 'lost': {
      const { code, message, type } = new ApiError('internal_error', CALL_ERRORS.responseLost.message)
      return JSON.stringify({ ...JSON.parse(text), status: 'failed', error: { code, message, type } })
    }
    default:
      return found.state satisfies never
  }
}

/** Streams the events of a response. One that runs has its output once it has ended. */
export async function streamStoredResponse(
  request: FastifyRequest,
  reply: FastifyReply,
  store: Pick<StoredResponseStore, 'find' | 'state' | 'read'>,
  { id, after }: { id: string; after: number },
): Promise<void> {
  const reader = readerOf(request)
  const closed = new AbortController()
  whenResponseCloses(reply.raw, () => closed.abort())
  const stream = startEventStream(reply)
  let next = after + 1
  const send = async (found: StoredResponse, end?: number) => {
    const response = JSON.parse(await currentResponse(request, store, found)) as ResponseObject
    for (const [index, event] of responseEvents(response).slice(0, end).entries())
      if (index >= next) stream.write(eventText(event, index))
    next = Math.max(next, end ?? 0)
  }
  try {
    const first = await store.find(reader, id)
    if (first?.state === 'running') await send(first, BEGINNING.length)
    while ((await store.state(reader, id)) === 'running') {
      stream.write(': keep-alive\n\n')
      await delay(LOOK_EVERY_MS, undefined, { signal: closed.signal })
    }
    const last = await store.find(reader, id)
    if (last) await send(last)
  } catch (error) {
    if (!closed.signal.aborted) reply.log.warn({ err: error }, 'stream of a stored response broken off')
  } finally {
    stream.end()
  }
}
