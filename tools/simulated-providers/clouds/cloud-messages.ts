import type { IncomingHttpHeaders } from 'node:http'
import type { PlanInput } from '../response-plan.ts'
import { isObject, type SimulatedRequest } from '../simulated-request.ts'
import type { Addressed, SimulatedWire, StreamEvents } from '../simulated-wire.ts'
import { ANTHROPIC_MESSAGES } from '../wires/anthropic-messages.ts'
import { framedEvent, framedException } from './event-stream.ts'

/** The messages wire as clouds take it: the model in the path, the version in the body. */
const withVersion =
  (version: string, streamsBy: 'path' | 'body') =>
  (body: unknown, addressed: Addressed, headers: IncomingHttpHeaders): SimulatedRequest | null => {
    if (!isObject(body) || body.anthropic_version !== version || body.model !== undefined) return null
    if (streamsBy === 'path' && body.stream !== undefined) return null
    const { anthropic_version: _, anthropic_beta: betas = [], ...fields } = body
    const stream = streamsBy === 'path' ? addressed.streams : body.stream
    return ANTHROPIC_MESSAGES.readRequest({ ...fields, model: addressed.model, stream }, addressed, {
      'anthropic-version': '2023-06-01',
      'anthropic-beta': headers['anthropic-beta'] ?? String(betas),
    })
  }

export const VERTEX_MESSAGES: SimulatedWire = {
  ...ANTHROPIC_MESSAGES,
  readRequest: withVersion('vertex-2023-10-16', 'body'),
}

const MESSAGES: Record<string, string> = {
  context: 'Input is too long for requested model.',
  policy: 'The request was blocked by our content policy.',
}

export const BEDROCK_MESSAGES: SimulatedWire = {
  ...ANTHROPIC_MESSAGES,
  readRequest: withVersion('bedrock-2023-05-31', 'path'),
  streamType: 'application/vnd.amazon.eventstream',
  events,
  hasKey: ({ authorization }) => authorization !== undefined,
  error: ({ status, code }) => JSON.stringify({ message: MESSAGES[String(code)] ?? `Error ${status}.` }),
}

/** Each event of the wire in the bytes of a chunk; errors are exceptions. */
function events(input: PlanInput): StreamEvents {
  const texts = Object.entries(ANTHROPIC_MESSAGES.events(input)).map(([name, text]) => [
    name,
    Array.isArray(text) ? text.map(inChunks) : inChunks(text),
  ])
  const failed = framedException('internalServerException', 'The system encountered an unexpected error.')
  return {
    ...Object.fromEntries(texts),
    comment: '',
    malformed: framedEvent('chunk', { bytes: 'e30' }),
    error: failed,
    toolError: failed,
  }
}

const inChunks = (text: string): string =>
  [...text.matchAll(/^data: (.*)$/gm)]
    .map(([, data = '']) => framedEvent('chunk', { bytes: Buffer.from(data).toString('base64'), p: 'abcd' }))
    .join('')
