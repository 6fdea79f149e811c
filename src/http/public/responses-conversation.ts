import type { IncomingMessage } from 'node:http'
import type { LRUCache } from 'lru-cache'
import type { ResponseObject } from '../../core/calls/responses-items.ts'
import { type Fields, isObject } from '../../core/json/json-object.ts'
import { ApiError, invalid } from '../../core/kernel/errors.ts'
import { newCallId, responseIdOf } from '../../core/kernel/ids.ts'
import { parseStored } from '../bounded-parse.ts'

/** The last response of a connection, if it is not stored: what a next turn that continues it sends again. */
export interface KeptTurns {
  id: string
  /** The stored response before them; null: none. */
  previousId: string | null
  /** The items of their inputs and outputs, JSON without its brackets. */
  items: string
}

/** The kept turns of all connections, bounded together. */
export type KeptConversations = Pick<LRUCache<object, KeptTurns>, 'get' | 'set' | 'delete'>

/** What a message of a client asks for; null: nothing, it is a notice. */
export type AskedTurn = CreatedTurn | WarmUp | null

interface CreatedTurn {
  kind: 'create'
  /** The body of POST /v2/responses, JSON. */
  body: string
  /** What the turn is kept with, unless its response is stored. */
  turns: Omit<KeptTurns, 'id'>
}

/** Only prepares the next turn. */
interface WarmUp {
  kind: 'warm-up'
  model: unknown
  turns: Omit<KeptTurns, 'id'>
}

const TYPES = 'The `type` of a message is response.create.'

/**
 * Reads a message, `{"type": "response.create", …}` with the fields of a body of POST /v2/responses. Throws ApiError.
 * @param kept what the connection keeps
 */
export async function readTurn(message: Buffer, kept: KeptTurns | undefined): Promise<AskedTurn> {
  const parsed = await parseStored(message)
  if (!isObject(parsed)) throw invalid(undefined, 'A message is a JSON object.')
  const { type, generate, stream_id: lane, background, previous_response_id: previous, ...body } = parsed
  if (type === 'response.processed') return null
  if (type !== 'response.create') throw invalid('type', TYPES)
  if (lane != null)
    throw new ApiError(
      'unsupported_shape',
      '`stream_id` is not supported. Open a connection for each of several turns at a time.',
      { param: 'stream_id' },
    )
  if (background === true)
    throw invalid('background', 'A response in `background` is created with POST /v2/responses.')
  const before =
    typeof previous === 'string' && previous === kept?.id
      ? kept
      : { previousId: (previous ?? null) as string | null, items: '' }
  const { previousId } = before
  const items = joined(before.items, itemsOf(body.input))
  if (generate === false) return { kind: 'warm-up', model: body.model ?? null, turns: { previousId, items } }
  const input = before.items === '' ? JSON.stringify(body.input) : `[${items}]`
  const others = JSON.stringify({ ...body, input: undefined, stream: true, previous_response_id: previousId })
  const text = input === undefined ? others : `${others.slice(0, -1)},"input":${input}}`
  return { kind: 'create', body: text, turns: { previousId, items } }
}

/** What is kept after a response that is complete; null: it is stored. */
export const turnsAfter = (
  { previousId, items }: Omit<KeptTurns, 'id'>,
  { id, store, output }: Pick<ResponseObject, 'id' | 'store' | 'output'>,
): KeptTurns | null => (store === true ? null : { id, previousId, items: joined(items, itemsOf(output)) })

function itemsOf(input: unknown): string {
  const items = typeof input === 'string' ? [{ role: 'user', content: input }] : input
  return Array.isArray(items) ? JSON.stringify(items).slice(1, -1) : ''
}

const joined = (before: string, after: string): string =>
  before === '' || after === '' ? before + after : `${before},${after}`

/** The events of a turn that only prepared the next one, and the id of its response. */
export function warmUpEvents(model: unknown, nowMs: number): { id: string; events: string[] } {
  const id = responseIdOf(newCallId(nowMs))
  const usage = { input_tokens: 0, output_tokens: 0, total_tokens: 0 }
  const head = { id, object: 'response', created_at: Math.floor(nowMs / 1000), model, store: false }
  const events = [
    { type: 'response.created', response: { ...head, status: 'in_progress', output: [], usage: null } },
    { type: 'response.completed', response: { ...head, status: 'completed', output: [], usage } },
  ].map(({ type, response }, index) => JSON.stringify({ type, sequence_number: index, response }))
  return { id, events }
}

/** An event of a response, and its JSON. */
export interface SentEvent {
  type: string
  data: string
}

const EVENT = 'event: '
const DATA = '\ndata: '

/** The events of each piece of a stream as `EventRenderer` (responses-format.ts) writes it; its comments are left out. */
export async function* eventsOf(stream: IncomingMessage): AsyncGenerator<SentEvent[]> {
  stream.setEncoding('utf8')
  let rest = ''
  for await (const text of stream) {
    const blocks = (rest + text).split('\n\n')
    rest = blocks.pop()!
    yield blocks.flatMap((block) => {
      const dataAt = block.startsWith(EVENT) ? block.indexOf(DATA) : -1
      return dataAt === -1
        ? []
        : [{ type: block.slice(EVENT.length, dataAt), data: block.slice(dataAt + DATA.length) }]
    })
  }
}

/** JSON of an object with a further member. */
export const withMember = (json: string, name: string, value: object): string =>
  `${json.slice(0, -1)},${JSON.stringify(name)}:${JSON.stringify(value)}}`

/** An error as an event, with the status and headers that it has over HTTP. */
export function errorEvent(status: number, error: object, headers: object = {}): string {
  const { code, param } = error as Fields
  const isUnknown = param === 'previous_response_id' && code === 'not_found'
  return JSON.stringify({
    type: 'error',
    status: isUnknown ? 400 : status,
    error: isUnknown ? { ...error, code: 'previous_response_not_found' } : error,
    headers,
  })
}
