import type { PlanInput } from '../response-plan.ts'
import {
  isObject,
  listOf,
  PLAIN_REQUEST,
  readMessages,
  readTools,
  type SimulatedRequest,
} from '../simulated-request.ts'
import {
  type Addressed,
  type ErrorTable,
  errorRow,
  lateCached,
  type Refusal,
  reportedTokens,
  type SimulatedWire,
  type StreamEvents,
  tokenLogprobs,
} from '../simulated-wire.ts'

type Fields = Record<string, unknown>

const KNOWN_FIELDS = new Set(['contents', 'systemInstruction', 'tools', 'toolConfig', 'generationConfig'])
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
  if (!areCallsAnswered(body.contents)) return null
  const system = isObject(body.systemInstruction)
    ? [{ role: 'system', content: body.systemInstruction.parts }]
    : []
  const turns = body.contents.flatMap(({ role, parts }) => {
    const results = listOf(parts).flatMap((part): Fields[] =>
      isObject(part) && isObject(part.functionResponse) ? [part.functionResponse] : [],
    )
    if (results.length === 0) return [{ role: role === 'model' ? 'assistant' : 'user', content: parts }]
    return results.map(({ response }) => ({ role: 'tool', content: String((response as Fields).output) }))
  })
  const thinking = isObject(config.thinkingConfig) ? config.thinkingConfig : {}
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
    ...PLAIN_REQUEST,
    toolChoice: readToolChoice(body.toolConfig),
    stop: listOf(config.stopSequences) as string[],
    topLogprobs: config.responseLogprobs === true ? Number(config.logprobs ?? 0) : null,
    unreasoned: thinking.thinkingBudget === 0,
  }
}

function readToolChoice(toolConfig: unknown): SimulatedRequest['toolChoice'] {
  const config = isObject(toolConfig) ? toolConfig.functionCallingConfig : undefined
  if (!isObject(config) || config.mode === 'AUTO') return 'auto'
  if (config.mode === 'NONE') return 'none'
  const [name] = listOf(config.allowedFunctionNames)
  return typeof name === 'string' ? { name } : 'required'
}

/** The content after function calls holds the responses to all of them, in their order, and nothing else. */
function areCallsAnswered(contents: readonly unknown[]): boolean {
  let called: unknown[] = []
  return (
    contents.filter(isObject).every(({ role, parts }) => {
      const answers = namesOf(parts, 'functionResponse')
      const isOnly = answers.length === 0 || answers.length === listOf(parts).length
      const isPaired = isOnly && answers.join() === called.join() && (answers.length === 0 || role === 'user')
      called = namesOf(parts, 'functionCall')
      return isPaired && (called.length === 0 || role === 'model')
    }) && called.length === 0
  )
}

const namesOf = (parts: unknown, field: 'functionCall' | 'functionResponse'): unknown[] =>
  listOf(parts).flatMap((part) => (isObject(part) && isObject(part[field]) ? part[field].name : []))

const isContent = (content: unknown): boolean =>
  isObject(content) &&
  (content.role === 'user' || content.role === 'model') &&
  Array.isArray(content.parts) &&
  content.parts.length > 0 &&
  content.parts.every(isPart)

const isPart = (part: unknown): boolean =>
  isObject(part) &&
  (typeof part.text === 'string' ||
    part.inlineData !== undefined ||
    part.fileData !== undefined ||
    (isObject(part.functionCall) && isObject(part.functionCall.args)) ||
    (isObject(part.functionResponse) && isObject(part.functionResponse.response)))

function events(input: PlanInput): StreamEvents {
  const { completion, behaviour, provider, model } = input
  const newline = behaviour.crlf ? '\r\n' : '\n'
  const event = (data: unknown) => `data: ${JSON.stringify(data)}${newline}${newline}`
  const part = (content: object, soFar?: TokensSoFar, logprobs?: object) =>
    event(chunk(input, { content: { parts: [content], role: 'model' }, ...logprobs }, soFar))
  const thoughts = completion.reasoning.length
  return {
    comment: `: processing${newline}${newline}`,
    // The wire sends nothing before its first part.
    role: '',
    tokens: [
      ...completion.reasoning.map((text, at) =>
        part({ text, thought: true }, { thoughts: at + 1, candidates: 0 }),
      ),
      ...[...completion.text, ...completion.refusal].map((text, at) =>
        part({ text }, { thoughts, candidates: at + 1 }, logprobs(input, [text])),
      ),
      ...functionCalls(input).map((functionCall) => part({ functionCall })),
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
    toolError: event(chunk(input, { content: {}, finishReason: 'MALFORMED_FUNCTION_CALL' })),
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
  const all = isTrue ? input.completion.reasoning.length : 0
  const { thoughts, candidates } = isTrue && soFar ? soFar : { thoughts: all, candidates: completion - all }
  return {
    promptTokenCount: prompt,
    candidatesTokenCount: candidates,
    ...(thoughts > 0 && { thoughtsTokenCount: thoughts }),
    totalTokenCount: prompt + thoughts + candidates,
    ...(!soFar && lateCached(input) > 0 && { cachedContentTokenCount: lateCached(input) }),
  }
}

/** A call comes whole; one that the limit cut short does not come. */
function functionCalls({ completion }: PlanInput): object[] {
  if (completion.finishReason === 'length') return []
  return completion.toolCalls.map((call) => ({ name: call.name, args: JSON.parse(call.arguments.join('')) }))
}

/** Nothing where none are asked for. */
function logprobs({ completion: { topLogprobs } }: PlanInput, tokens: readonly string[]): object {
  if (topLogprobs === null) return {}
  const all = tokenLogprobs(tokens, topLogprobs)
  const candidate = ({ token, logprob }: { token: string; logprob: number }) => ({
    token,
    logProbability: logprob,
  })
  return {
    logprobsResult: {
      chosenCandidates: all.map(candidate),
      topCandidates: all.map((each) => ({ candidates: each.top_logprobs.map(candidate) })),
    },
  }
}

const finishReason = ({ completion, behaviour }: PlanInput): string =>
  behaviour.refuses ? 'SAFETY' : (FINISH_REASONS[completion.finishReason] ?? completion.finishReason)

function wholeReply(input: PlanInput) {
  const { completion } = input
  const text = [...completion.text, ...completion.refusal].join('')
  const parts = [
    ...(completion.reasoning.length > 0 ? [{ text: completion.reasoning.join(''), thought: true }] : []),
    ...(text !== '' ? [{ text }] : []),
    ...functionCalls(input).map((functionCall) => ({ functionCall })),
  ]
  return chunk(input, {
    content: { parts, role: 'model' },
    finishReason: finishReason(input),
    ...logprobs(input, completion.text),
  })
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
