import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type {
  Chain,
  StoredResponseStore,
  StoredTurn,
} from '../../calls/stored-responses/stored-response-store.ts'
import type { Surface } from '../../core/api/surfaces/surface-registry.ts'
import { inputItems, referencedCalls, withReferencedItems } from '../../core/calls/responses-items.ts'
import { normalizeResponsesRequest, ResponsesBody } from '../../core/calls/responses-request.ts'
import { ApiError, invalid } from '../../core/kernel/errors.ts'
import { type CallId, callIdOfResponse, newCallId, responseIdOf } from '../../core/kernel/ids.ts'
import { onResponses } from '../../core/presets/apply-preset.ts'
import { ResponsesFormat } from '../calls/responses-format.ts'
import { callingKey, mayCall, type RequestedCall, serveCall } from '../calls/serve-call.ts'
import { backgroundResponse, type StoredCall, storeBeforeEnd } from '../calls/store-response.ts'
import { withPreset } from '../calls/use-preset.ts'
import { noSuchResponse, streamStoredResponse } from './stored-responses.ts'

const ENCRYPTED_REASONING = 'reasoning.encrypted_content'

/** POST /v1/responses, and under /v2: one turn, as an extended call. Earlier turns are sent again, or read from stored responses. */
export const responsesRoute =
  (path: string, { id }: Pick<Surface, 'id'>): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { services } = app
    const {
      callPath: deps,
      reasoningBox,
      storedResponses: store,
      backgroundCalls,
      logger,
      presetCache,
    } = services
    app.post(
      path,
      {
        onRequest: [app.requireKey, app.requireSurface(id), mayCall, app.weighBody],
        bodyLimit: deps.limits.bodyLimitBytes,
        schema: { summary: 'One response, whole, as typed events, or in background', body: ResponsesBody },
      },
      async (request, reply) => {
        const { body, preset, leftOut = [] } = await withPreset(request, presetCache, onResponses)
        const key = callingKey(request)
        const { accountId } = key
        const previousId =
          body.previous_response_id == null ? null : callIdOfResponse(body.previous_response_id)
        const { input, metadata = null } = body
        const bytesMax = deps.limits.bodyLimitBytes
        const earlier = await earlierTurns(request, { previousId, input }, store, bytesMax)
        const asked = { ...body, input: withReferencedItems(input, earlier.items) }
        const openReasoning = reasoningBox.opener(accountId)
        const normalized = normalizeResponsesRequest(asked, { history: earlier.history, openReasoning })
        const { customTools } = normalized
        const ignored = [...leftOut, ...normalized.ignored]
        const isBackground = body.background === true
        const isKept = body.store !== false
        // A response in background is streamed once it has ended.
        const call = isBackground ? { ...normalized.call, stream: false } : normalized.call
        const sealReasoning = body.include?.includes(ENCRYPTED_REASONING)
          ? reasoningBox.sealer(accountId)
          : undefined
        const previous = previousId === null ? null : responseIdOf(previousId)
        const echoed = { background: isBackground, metadata, previous_response_id: previous }
        const format = new ResponsesFormat(call, { customTools, sealReasoning }, echoed, isKept)
        const fingerprint = { surface: path, body: request.body }
        const requested: RequestedCall = { call, fingerprint, format, ignored, preset }
        if (!isKept) return serveCall(key, requested, request, reply, deps)
        const callId = newCallId(deps.pathOf(accountId).dispatch.clock())
        const items = JSON.stringify(inputItems(asked.input, callId))
        const stored: StoredCall = { accountId, previousId, format, input: items, store, logger }
        requested.planned = { callId }
        if (isBackground) return inBackground(requested, callId, stored, request, reply)
        requested.watch = (writer, envelope) =>
          storeBeforeEnd(writer, envelope, stored, () => reply.raw.destroyed)
        return serveCall(key, requested, request, reply, deps)
      },
    )

    /** Stores the response as running, then starts its call. */
    async function inBackground(
      requested: RequestedCall,
      callId: CallId,
      stored: StoredCall,
      request: FastifyRequest,
      reply: FastifyReply,
    ): Promise<FastifyReply> {
      const { accountId, previousId } = stored
      if (request.headers['idempotency-key'] !== undefined)
        throw invalid(
          'Idempotency-Key',
          'A response in `background` is found by its id. Leave out `Idempotency-Key`.',
        )
      const isStream = (request.body as ResponsesBody).stream === true
      const head = { id: callId, created: Math.floor(Date.now() / 1000), model: requested.call.models[0]! }
      const response = backgroundResponse(head, stored, () => backgroundCalls.remove(callId))
      const isPut = await store.put({ callId, accountId, previousId, turn: response.turn, isRunning: true })
      if (!isPut)
        throw invalid('background', 'The stored responses of this account leave no space for this one.')
      const background = backgroundCalls.add(callId)
      const running: RequestedCall = {
        ...requested,
        background,
        dispatched: () => response.over,
        watch: (_, envelope) => {
          const writer = response.writer(envelope)
          if (!isStream) return writer
          const body = Promise.resolve().then(() => {
            void streamStoredResponse(reply, store, { accountId, id: callId, after: -1 })
            return null
          })
          return { ...writer, body }
        },
      }
      try {
        return await serveCall(callingKey(request), running, request, reply, deps)
      } catch (error) {
        // The call was not started.
        backgroundCalls.remove(callId)
        await store
          .delete(accountId, callId)
          .catch((cause) => logger.warn({ err: cause, callId }, 'response not deleted'))
        throw error
      }
    }
  }

interface EarlierTurns {
  /** The items of the responses that this one continues, in order. */
  history: StoredTurn['input']
  /** The items of the responses that its input refers to. */
  items: StoredTurn['input']
}

/** Reads what a request continues and refers to; it counts as a part of its body. Throws ApiError. */
async function earlierTurns(
  request: FastifyRequest,
  { previousId, input }: Pick<ResponsesBody, 'input'> & { previousId: string | null },
  store: Pick<StoredResponseStore, 'chain' | 'findAll'>,
  bytesMax: number,
): Promise<EarlierTurns> {
  const { accountId } = callingKey(request)
  const referenced = referencedCalls(input)
  const turns = referenced.length > 0 ? await store.findAll(accountId, referenced) : []
  const items = turns.flatMap(itemsOf)
  if (previousId === null) return { history: [], items }
  const chain = await store.chain(accountId, previousId, bytesMax - request.bodyBytes)
  if (chain.kind !== 'found') throw notContinued(chain, previousId)
  request.bodyReservation?.grow(chain.bytes)
  request.bodyBytes += chain.bytes
  return { history: chain.turns.flatMap(itemsOf), items }
}

const itemsOf = ({ input, response }: StoredTurn) => [...input, ...response.output]

function notContinued(chain: Exclude<Chain, { kind: 'found' }>, previousId: string): ApiError {
  const param = 'previous_response_id'
  switch (chain.kind) {
    case 'missing':
      return noSuchResponse(chain.id, param)
    case 'too-long':
      return new ApiError(
        'request_too_large',
        'The responses that this one continues are too long together. Start a new conversation.',
        { param },
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
