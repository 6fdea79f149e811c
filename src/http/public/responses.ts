import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import {
  bytesToRead,
  type Chain,
  type StoredResponse,
  type StoredResponseStore,
  type WantedResponse,
  wantedWhole,
} from '../../calls/stored-responses/stored-response-store.ts'
import type { Surface, SurfaceId } from '../../core/api/surfaces/surface-registry.ts'
import { CompactBody, summaryOf } from '../../core/calls/compact-request.ts'
import type { CallRequest } from '../../core/calls/kinds/call-kinds.ts'
import type { ProviderPreferences } from '../../core/calls/provider-preferences.ts'
import {
  inputItems,
  jsonBytes,
  type ResponseObject,
  type ResponsePart,
  referencedCalls,
  referencedItems,
  type StoredItem,
  withReferencedItems,
} from '../../core/calls/responses-items.ts'
import {
  ENCRYPTED_REASONING,
  normalizeResponsesRequest,
  ResponsesBody,
} from '../../core/calls/responses-request.ts'
import { ApiError, invalid } from '../../core/kernel/errors.ts'
import { type CallId, callIdOfResponse, newCallId, responseIdOf } from '../../core/kernel/ids.ts'
import { onResponses } from '../../core/presets/apply-preset.ts'
import { jsonArrayOf, readerOf, readStored } from '../account-api/stored-reads.ts'
import { parseStored } from '../bounded-parse.ts'
import { compactionFormat } from '../calls/compaction-format.ts'
import { ResponsesFormat } from '../calls/responses-format.ts'
import { type ServeOptions, serveCall } from '../calls/serve-call.ts'
import { callingKey, mayCall } from '../plugins/authenticate.ts'
import { backgroundResponse, type StoredCall, storeBeforeEnd, writeInTurns } from './store-response.ts'
import { noSuchResponse, streamStoredResponse } from './stored-responses.ts'
import { withPreset } from './use-preset.ts'

/** POST /v1/responses, and under /v2: one turn, as an extended call. Earlier turns are sent again, or read from stored responses. */
export const responsesRoute =
  (path: string, { id }: Pick<Surface, 'id'>): FastifyPluginAsyncTypebox =>
  async (app) => {
    const respond = responder(app, path)
    app.post(
      path,
      {
        ...routeOf(app, id),
        schema: { summary: 'One response, whole, as typed events, or in background', body: ResponsesBody },
      },
      (request, reply) => respond(request, reply, 'answer'),
    )
  }

/** POST /v2/responses/compact: a response that is a summary, for a client to continue from. */
export const compactRoute =
  (path: string, { id }: Pick<Surface, 'id'>): FastifyPluginAsyncTypebox =>
  async (app) => {
    const respond = responder(app, path)
    app.post(
      path,
      { ...routeOf(app, id), schema: { summary: 'A conversation in fewer items', body: CompactBody } },
      (request, reply) => {
        const body = summaryOf(request.body)
        return respond(Object.assign(request, { body }), reply, 'compaction')
      },
    )
  }

const routeOf = (app: FastifyInstance, id: SurfaceId) => ({
  onRequest: [app.requireKey, app.requireSurface(id), mayCall, app.weighBody],
  bodyLimit: app.calls.limits.bodyLimitBytes,
})

/** Makes the responses of a route. */
function responder(app: FastifyInstance, path: string) {
  const { calls: deps } = app
  const { reasoningBox, storedResponses: store, backgroundCalls, logger, presetCache } = app.calls
  return async (
    request: FastifyRequest & { body: ResponsesBody },
    reply: FastifyReply,
    kind: 'answer' | 'compaction',
  ): Promise<FastifyReply> => {
    const { body, preset, leftOut = [] } = await withPreset(request, presetCache, onResponses)
    const key = callingKey(request)
    const { accountId } = key
    const previousId = body.previous_response_id == null ? null : callIdOfResponse(body.previous_response_id)
    const { input, metadata = null } = body
    const bytesMax = deps.limits.bodyLimitBytes
    const earlier = await earlierTurns(request, { previousId, input }, store, bytesMax)
    const whole = { ...body, input: withReferencedItems(input, earlier.items) }
    const openReasoning = reasoningBox.opener(accountId)
    const normalized = normalizeResponsesRequest(whole, { history: earlier.history, openReasoning })
    const { declaredTools, compacts } = normalized
    const ignored = [...leftOut, ...normalized.ignored]
    const isBackground = body.background === true
    const isKept = body.store !== false && !forbidsRetention(normalized.call.preferences)
    if (isBackground && !isKept)
      throw invalid(
        'background',
        'A response in `background` is stored, which `provider.zdr` and `data_collection: "deny"` exclude.',
      )
    // A response in background is streamed once it has ended.
    const call = isBackground ? { ...normalized.call, stream: false } : normalized.call
    const seal = reasoningBox.sealer(accountId)
    const sealReasoning = body.include?.includes(ENCRYPTED_REASONING) ? seal : undefined
    const previous = previousId === null ? null : responseIdOf(previousId)
    const echoed = { background: isBackground, metadata, previous_response_id: previous }
    const sealSummary = compacts ? (text: string) => seal({ text, signed: [] }) : undefined
    const keepReasoning = isKept ? seal : undefined
    const written = { declaredTools, sealReasoning, keepReasoning, sealSummary }
    const format = new ResponsesFormat(call, written, echoed, isKept)
    const fingerprint = { surface: path, body: request.body }
    const options: ServeOptions = { fingerprint, format, ignored, preset }
    const callId = newCallId(deps.pathOf(accountId).dispatch.clock())
    const isReadable = (encrypted: string) => openReasoning(encrypted) !== null
    if (kind === 'compaction') {
      const conversation = [...earlier.history, ...inputItems(whole.input, callId, isReadable)]
      const messages = conversation.filter(({ type, role }) => type === 'message' && role === 'user')
      return serveCall(
        key,
        call,
        { ...options, format: compactionFormat(format, messages) },
        request,
        reply,
        deps,
      )
    }
    if (!isKept) return serveCall(key, call, options, request, reply, deps)
    const toStore = (): StoredCall => ({
      ...{ accountId, keyId: key.keyId, previousId, format, store, logger },
      input: writeInTurns(inputItems(whole.input, callId, isReadable)),
    })
    options.callId = callId
    if (isBackground) return inBackground(call, { ...options, callId }, toStore(), request, reply)
    // Only for a call that was admitted.
    options.watch = (writer, envelope) =>
      storeBeforeEnd(writer, envelope, toStore(), () => reply.raw.destroyed)
    return serveCall(key, call, options, request, reply, deps)
  }

  /** Stores the response as running, then starts its call. */
  async function inBackground(
    call: CallRequest,
    options: ServeOptions & { callId: CallId },
    stored: StoredCall,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<FastifyReply> {
    const { accountId, keyId, previousId, input } = stored
    const { callId } = options
    if (request.headers['idempotency-key'] !== undefined)
      throw invalid(
        'Idempotency-Key',
        'A response in `background` is found by its id. Leave out `Idempotency-Key`.',
      )
    const isStream = (request.body as ResponsesBody).stream === true
    const head = { id: callId, created: Math.floor(Date.now() / 1000), model: call.models[0]! }
    const response = backgroundResponse(head, stored, () => backgroundCalls.remove(callId))
    const isPut = await store.put({
      ...{ callId, accountId, keyId, previousId },
      input: await input,
      response: response.running,
      isRunning: true,
    })
    if (!isPut)
      throw invalid('background', 'The stored responses of this account leave no space for this one.')
    const background = backgroundCalls.add(callId)
    const running: ServeOptions = {
      ...options,
      background,
      dispatched: () => response.over,
      watch: (_, envelope) => {
        const writer = response.writer(envelope)
        if (!isStream) return writer
        const body = Promise.resolve().then(() => {
          void streamStoredResponse(request, reply, store, { id: callId, after: -1 })
          return null
        })
        return { ...writer, body }
      },
    }
    try {
      return await serveCall(callingKey(request), call, running, request, reply, deps)
    } catch (error) {
      // The call was not started.
      backgroundCalls.remove(callId)
      await store
        .delete({ accountId, keyId }, callId)
        .catch((cause) => logger.warn({ err: cause, callId }, 'response not deleted'))
      throw error
    }
  }
}

/** Whether a call asks that nothing of it is kept. */
const forbidsRetention = ({ zdr, dataCollection }: ProviderPreferences): boolean =>
  zdr || dataCollection === 'deny'

interface EarlierTurns {
  /** The items of the responses that this one continues, in order. */
  history: StoredItem[]
  /** The items of the responses that its input refers to. */
  items: StoredItem[]
}

/** Reads what a request continues and refers to; it counts as a part of its body. Throws ApiError. */
async function earlierTurns(
  request: FastifyRequest,
  { previousId, input }: Pick<ResponsesBody, 'input'> & { previousId: string | null },
  store: Pick<StoredResponseStore, 'chain' | 'findAll' | 'read'>,
  bytesMax: number,
): Promise<EarlierTurns> {
  const reader = readerOf(request)
  const calls = referencedCalls(input)
  const referenced =
    calls.size > 0 ? (await store.findAll(reader, [...calls.keys()])).map(withPart(calls)) : []
  const bytesLeft = bytesMax - request.bodyBytes - bytesOf(referenced)
  if (bytesLeft < 0) throw tooLong('The responses that the input refers to are too long together.', 'input')
  let continued: WantedResponse[] = []
  if (previousId !== null) {
    const chain = await store.chain(reader, previousId, bytesLeft)
    if (chain.kind !== 'found') throw notContinued(chain, previousId)
    continued = chain.turns.map(wantedWhole)
  }
  const wanted = [...continued, ...referenced]
  if (wanted.length === 0) return { history: [], items: [] }
  const read = await readStored(request, { store, accountId: reader.accountId }, wanted)
  if (read.length < wanted.length) throw noSuchResponse(goneOf(wanted, read), 'previous_response_id')
  const json = jsonArrayOf(read.flatMap(({ input, response }) => [input, response]))
  const parts = (await parseStored(json)) as Array<StoredItem[] | ResponseObject | null>
  const turns = wanted.map((_, index) => ({
    input: parts[2 * index] as StoredItem[] | null,
    response: parts[2 * index + 1] as ResponseObject | null,
  }))
  const last = continued.length > 0 ? turns[continued.length - 1]!.response : null
  if (last !== null && last.status !== 'completed' && last.status !== 'incomplete')
    throw notContinued({ kind: 'unfinished' }, previousId!)
  request.bodyBytes += bytesOf(continued)
  const items = turns.slice(continued.length).flatMap(itemsOf)
  const named = new Set(referencedItems(input))
  for (const item of items) if (named.has(item.id)) request.bodyBytes += jsonBytes(item)
  return { history: turns.slice(0, continued.length).flatMap(itemsOf), items }
}

const withPart = (parts: ReadonlyMap<string, ResponsePart>) => (found: StoredResponse) => ({
  ...found,
  part: parts.get(found.callId)!,
})

const bytesOf = (wanted: readonly WantedResponse[]): number =>
  wanted.reduce((sum, turn) => sum + bytesToRead(turn), 0)

const goneOf = (wanted: readonly WantedResponse[], read: readonly { callId: string }[]): string =>
  wanted.find(({ callId }) => read.every((each) => each.callId !== callId))!.callId

const itemsOf = (turn: { input: StoredItem[] | null; response: ResponseObject | null }): StoredItem[] => [
  ...(turn.input ?? []),
  ...(turn.response?.output ?? []),
]

const tooLong = (message: string, param: string): ApiError =>
  new ApiError('request_too_large', message, { param })

function notContinued(chain: Exclude<Chain, { kind: 'found' }>, previousId: string): ApiError {
  const param = 'previous_response_id'
  switch (chain.kind) {
    case 'missing':
      return noSuchResponse(chain.id, param)
    case 'too-long':
      return tooLong(
        'The responses that this one continues are too long together. Start a new conversation.',
        param,
      )
    case 'unfinished':
      return invalid(
        param,
        `The response '${responseIdOf(previousId)}' is not complete, so it cannot be continued.`,
      )
    default:
      return chain satisfies never
  }
}
