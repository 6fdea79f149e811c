import type { PlanInput } from '../response-plan.ts'
import { isObject, listOf, readMessages, readTools, type SimulatedRequest } from '../simulated-request.ts'
import {
  type Addressed,
  type ErrorTable,
  errorRow,
  type Refusal,
  reportedTokens,
  type SimulatedWire,
  type StreamEvents,
} from '../simulated-wire.ts'

const KNOWN_FIELDS = new Set(['contents', 'systemInstruction', 'tools', 'generationConfig'])
/** JSON Schema keywords that the real wire refuses by name. */
const REFUSED_KEYWORDS = /"(additionalProperties|\$schema|\$ref|\$defs|const|oneOf|allOf|exclusiveMinimum)":/
const FINISH_REASONS: Record<string, string> = {
  stop: 'STOP',
  length: 'MAX_TOKENS',
  tool_calls: 'STOP',
  content_filter: 'SAFETY',
}

/** The generate-content wire of Google as a provider speaks it; it refuses what the real one refuses. */
export const GOOGLE_GENERATE_CONTENT: SimulatedWire = {
  readRequest,
  hasKey: (headers) => headers['x-goog-api-key'] !== undefined,
  ownHeaders: (provider) => ({ server: `simulated-${provider}`, 'server-timing': 'gfet4t7; dur=12' }),
  retryAfterInHeader: false,
  events,
  whole: (input) => JSON.stringify(wholeReply(input)),
  error,
  modelList: (models) => ({
    models: models.map((id) => ({
      name: `models/${id}`,
      displayName: id,
      supportedGenerationMethods: ['generateContent', 'countTokens'],
    })),
  }),
}

function readRequest(body: unknown, { model, streams }: Addressed): SimulatedRequest | null {
  if (model === null || !isObject(body) || !Array.isArray(body.contents) || body.contents.length === 0) {
    return null
  }
  const config = isObject(body.generationConfig) ? body.generationConfig : {}
  const schemas = JSON.stringify([body.tools, config.responseSchema])
  const isKnown = Object.keys(body).every((field) => KNOWN_FIELDS.has(field))
  if (!isKnown || REFUSED_KEYWORDS.test(schemas) || !body.contents.every(isContent)) return null
  const system = isObject(body.systemInstruction)
    ? [{ role: 'system', content: body.systemInstruction.parts }]
    : []
  const turns = body.contents.map(({ role, parts }) => ({
    role: role === 'model' ? 'assistant' : 'user',
    content: parts,
  }))
  const limit = config.maxOutputTokens
  return {
    model,
    stream: streams,
    ...readMessages([...system, ...turns]),
    completionLimit: typeof limit === 'number' ? limit : undefined,
    tools: readTools(
      listOf(body.tools).flatMap((tool) => listOf(isObject(tool) && tool.functionDeclarations)),
      'parameters',
    ),
    responseFormat:
      config.responseMimeType === 'application/json' ? { type: 'json', schema: config.responseSchema } : null,
  }
}

const isContent = (content: unknown): boolean =>
  isObject(content) &&
  (content.role === 'user' || content.role === 'model') &&
  Array.isArray(content.parts) &&
  content.parts.length > 0 &&
  content.parts.every(isPart)

/** Calls and results of functions are refused: as many of either belong together, and the gateway keeps no calls. */
const isPart = (part: unknown): boolean =>
  isObject(part) &&
  (typeof part.text === 'string' || part.inlineData !== undefined || part.fileData !== undefined)

function events(input: PlanInput): StreamEvents {
  const { answer, behaviour, provider, model } = input
  const newline = behaviour.crlf ? '\r\n' : '\n'
  const event = (data: unknown) => `data: ${JSON.stringify(data)}${newline}${newline}`
  const part = (content: object, soFar?: TokensSoFar) =>
    event(chunk(input, { content: { parts: [content], role: 'model' } }, soFar))
  const thoughts = answer.reasoning.length
  const call = functionCall(input)
  return {
    comment: `: processing${newline}${newline}`,
    // The wire sends nothing before its first part.
    role: '',
    tokens: [
      ...answer.reasoning.map((text, at) =>
        part({ text, thought: true }, { thoughts: at + 1, candidates: 0 }),
      ),
      ...[...answer.text, ...answer.refusal].map((text, at) =>
        part({ text }, { thoughts, candidates: at + 1 }),
      ),
      ...(call ? [part({ functionCall: call })] : []),
    ],
    finish: event(
      chunk(input, {
        content: { parts: [{ text: '' }], role: 'model' },
        finishReason: finishReason(input),
      }),
    ),
    usage: '',
    done: '',
    malformed: `data: {"candidates":[{"content":{"pa${newline}${newline}`,
    error: event(JSON.parse(error({ status: 500 }, provider, model))),
  }
}

/** Tokens so far: every chunk counts along. */
interface TokensSoFar {
  thoughts: number
  candidates: number
}

function chunk(input: PlanInput, candidate: object, soFar?: TokensSoFar) {
  const { behaviour, provider, model, id } = input
  return {
    candidates: [{ ...candidate, index: 0 }],
    ...(behaviour.usage !== 'missing' && { usageMetadata: usageMetadata(input, soFar) }),
    modelVersion: `${provider}-${model}`,
    responseId: `resp-${id}`,
  }
}

/** Thoughts stand beside the candidates' tokens. */
function usageMetadata(input: PlanInput, soFar?: TokensSoFar) {
  const [prompt, completion] = reportedTokens(input)
  const isTrue = input.behaviour.usage === 'true'
  const all = isTrue ? input.answer.reasoning.length : 0
  const { thoughts, candidates } = isTrue && soFar ? soFar : { thoughts: all, candidates: completion - all }
  return {
    promptTokenCount: prompt,
    candidatesTokenCount: candidates,
    ...(thoughts > 0 && { thoughtsTokenCount: thoughts }),
    totalTokenCount: prompt + thoughts + candidates,
  }
}

/** A call comes whole; one that the limit cut short does not come. */
function functionCall({ answer }: PlanInput): object | null {
  if (!answer.toolCall || answer.finishReason === 'length') return null
  return { name: answer.toolCall.name, args: JSON.parse(answer.toolCall.arguments.join('')) }
}

const finishReason = ({ answer, behaviour }: PlanInput): string =>
  behaviour.refuses ? 'SAFETY' : (FINISH_REASONS[answer.finishReason] ?? answer.finishReason)

function wholeReply(input: PlanInput) {
  const { answer } = input
  const call = functionCall(input)
  const text = [...answer.text, ...answer.refusal].join('')
  const parts = [
    ...(answer.reasoning.length > 0 ? [{ text: answer.reasoning.join(''), thought: true }] : []),
    ...(text !== '' ? [{ text }] : []),
    ...(call ? [{ functionCall: call }] : []),
  ]
  return chunk(input, { content: { parts, role: 'model' }, finishReason: finishReason(input) })
}

const ERRORS: ErrorTable = {
  context: [
    'INVALID_ARGUMENT',
    'The input token count (9000) exceeds the maximum number of tokens allowed (8192).',
  ],
  policy: ['INVALID_ARGUMENT', 'The prompt was rejected by our safety system.'],
  400: ['INVALID_ARGUMENT', 'Unsupported parameter.'],
  401: ['UNAUTHENTICATED', 'Request had invalid authentication credentials.'],
  403: ['PERMISSION_DENIED', 'Your organization may not use this model.', 'PERMISSION_DENIED'],
  404: ['NOT_FOUND', 'The model does not exist.'],
  429: ['RESOURCE_EXHAUSTED', 'Rate limit reached for requests.'],
  503: ['UNAVAILABLE', 'The model is overloaded. Please try again later.'],
  504: ['DEADLINE_EXCEEDED', 'The request timed out.'],
  other: ['INTERNAL', 'The server had an error while processing your request.'],
}

function error(refusal: Refusal, provider: string, model: string): string {
  const { type, message, code: reason } = errorRow(ERRORS, refusal, provider, model)
  const { status, retryAfterSeconds } = refusal
  const details = [
    ...(reason ? [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason }] : []),
    ...(retryAfterSeconds !== undefined
      ? [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${retryAfterSeconds}s` }]
      : []),
  ]
  return JSON.stringify({ error: { code: status, message, status: type, details } })
}
