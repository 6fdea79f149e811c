import type { Behaviour } from './behaviour.ts'
import { type SimulatedRequest, scriptedCalls } from './simulated-request.ts'

/** A whole completion, before it is put on the wire. The text is in pieces of about one token each. */
export interface Completion {
  reasoning: string[]
  text: string[]
  refusal: string[]
  toolCalls: Array<{ id: string; name: string; arguments: string[] }>
  /** See SimulatedRequest. */
  topLogprobs: number | null
  /** It comes after a search of the web, which it cites. */
  searches: boolean
  finishReason: string
  /** The stop sequence that ended it; null: none did. */
  stoppedBy: string | null
  promptTokens: number
  completionTokens: number
}

const OPENINGS = [
  'Here is a short answer to what you asked.',
  'That is a good question, so let us take it one step at a time.',
  'In brief, it depends on three things, and each is easy to check.',
  'The useful way to look at this is from the outside in.',
]

const SENTENCES = [
  'Start with the smallest thing that works and measure it before you change anything.',
  'Write down what you expect to see, then compare it with what you get.',
  'Most of the difficulty lies in naming the parts well.',
  'A queue turns a sudden burst of work into a steady flow.',
  'Every retry costs something, so give each one a reason and a limit.',
  'If two answers disagree, keep both until you know why.',
  'The first token arrives quickly and the rest follow at an even pace.',
  'Once the numbers add up, the rest is a matter of taste.',
  'Trains leave on time when the points are set before they arrive.',
  'A clear error message saves an hour of guessing.',
  'Keep the happy path straight and put the exceptions beside it.',
  'Caches are promises about the past, so say how long you will keep them.',
]

/** Ends a completion with as many words as are left: the first has one. */
const CLOSINGS = [
  'Done.',
  'That’s all.',
  'That is all.',
  'That is the gist.',
  'That is all it takes.',
  'That is all there is here.',
  'That is all there is to it.',
  'Start there, and the rest follows by itself.',
  'Try it once, and then adjust what is off.',
  'Try it once, look at the result, and then adjust.',
  'If it does not work the first time, change one thing.',
  'If it does not work the first time, change only one thing.',
  'If it does not work the first time, change one thing and repeat.',
]

const MULTIBYTE = ['Grüße', 'naïve', '漢字', 'ΔΕΖ', '🎉', 'a👩‍👩‍👧b', 'עברית', '½']

const MAX_PIECE_CHARACTERS = 16
const MAX_QUOTED_PROMPT = 120

/**
 * The completion of a simulated model. A pure function of the request, the behaviour and, only with
 * `different-text`, the provider; so two providers of one model give the same text, to the byte.
 */
export function composeCompletion(
  request: SimulatedRequest,
  behaviour: Behaviour,
  provider: string,
): Completion {
  const calls = callsOf(request, behaviour)
  const reasoning = pieces(prose(request.prompt, request.unreasoned ? 0 : behaviour.reasoningTokens, 7))
  const spoken = calls.length > 0 ? [] : completionPieces(request, behaviour, provider)
  const { kept: whole, stoppedBy } = untilStop(spoken, request.stop)
  const text = behaviour.continuesPrefill && request.prefill ? afterPrefill(whole, request.prefill) : whole
  const argumentPieces = calls.map((call) => pieces(call.arguments))

  const { completionLimit } = request
  const limit = behaviour.ignoresLimit
    ? Number.POSITIVE_INFINITY
    : (completionLimit ?? Number.POSITIVE_INFINITY)
  const cut = limitPieces([reasoning, text, ...argumentPieces], limit)
  const [keptReasoning = [], keptText = [], ...keptArguments] = cut.kept
  const natural = behaviour.finishReason ?? (calls.length > 0 ? 'tool_calls' : 'stop')
  const before = request.toolResults.length
  return {
    reasoning: keptReasoning,
    text: behaviour.refuses ? [] : keptText,
    refusal: behaviour.refuses ? keptText : [],
    toolCalls: calls.map(({ name }, at) => ({
      id: `call_${textHash(before + at === 0 ? request.prompt : `${request.prompt} ${before + at}`)}`,
      name,
      arguments: keptArguments[at]!,
    })),
    topLogprobs: request.topLogprobs,
    searches: request.maySearch,
    finishReason: cut.shortened ? 'length' : natural,
    stoppedBy: cut.shortened ? null : stoppedBy,
    promptTokens: request.promptTokens,
    completionTokens: keptReasoning.length + keptText.length + keptArguments.flat().length,
  }
}

type Tool = SimulatedRequest['tools'][number]

/** A call to make, with its arguments as JSON. */
interface WantedCall {
  name: string
  arguments: string
  /** It is made in the turn of the call before it. */
  isJoined?: boolean
}

/** A loop of tools ends after so many calls, whatever they return. */
const CALLS_MAX = 16

/**
 * The calls of a turn, one a turn; those that have returned are done. They are those that the prompt scripts, else each
 * tool as often as the prompt or a result names it, in that order. A call that is demanded is made in any case.
 */
function callsOf(request: SimulatedRequest, { parallelCalls }: Behaviour): WantedCall[] {
  const { tools, prompt, toolResults, toolChoice, oneCall } = request
  if (toolChoice === 'none') return []
  const scripted = scriptedCalls(prompt)
  const wanted =
    scripted.length > 0 ? scripted : [prompt, ...toolResults].flatMap((from) => namedCalls(tools, from))
  const left = wanted
    .slice(toolResults.length, CALLS_MAX)
    .filter(({ name }) => tools.some((tool) => tool.name === name))
  const demanded =
    typeof toolChoice === 'object' ? tools.find(({ name }) => name === toolChoice.name) : undefined
  const [tool] = demanded ? [demanded] : toolChoice === 'required' && left.length === 0 ? tools : []
  if (tool) return [callOf(tool, prompt)]
  if (parallelCalls && !oneCall) return left
  const next = left.findIndex(({ isJoined }, index) => index > 0 && (oneCall || !isJoined))
  return next < 0 ? left : left.slice(0, next)
}

/** A call for each mention of a tool in a text. */
const namedCalls = (tools: readonly Tool[], text: string): WantedCall[] =>
  (text.match(/[A-Za-z0-9_-]+/g) ?? []).flatMap((word) => {
    const tool = tools.find(({ name }) => name === word)
    return tool ? [callOf(tool, text)] : []
  })

const callOf = ({ name, parameters }: Tool, from: string): WantedCall => ({
  name,
  arguments: JSON.stringify(schemaInstance(parameters ?? {}, from)),
})

/** A text up to the first of these; they are left out. */
function untilStop(whole: string[], stop: readonly string[]): { kept: string[]; stoppedBy: string | null } {
  const text = whole.join('')
  const found = stop.map((word) => ({ word, at: text.indexOf(word) })).filter(({ at }) => at >= 0)
  const [first] = found.sort((one, other) => one.at - other.at)
  return first
    ? { kept: pieces(text.slice(0, first.at)), stoppedBy: first.word }
    : { kept: whole, stoppedBy: null }
}

function completionPieces(request: SimulatedRequest, behaviour: Behaviour, provider: string): string[] {
  if (behaviour.style === 'empty') return []
  if (behaviour.refuses) return pieces('I cannot help with that.')
  if (behaviour.style === 'echo') return pieces(request.prompt)
  if (request.responseFormat) return pieces(jsonCompletion(request, behaviour))
  const seed = behaviour.differentText ? textHash(`${provider}:${request.prompt}`) : textHash(request.prompt)
  const results =
    request.toolResults.length > 0 ? `The tools returned: ${request.toolResults.join('; ')}. ` : ''
  const lead = results + (behaviour.differentText ? `From the ${provider} line. ` : '')
  const text = lead + prose(request.prompt, behaviour.words, seed, request.images)
  return pieces(behaviour.multibyte ? `${MULTIBYTE.join(' ')} ${text}` : text)
}

/** Readable text of exactly so many words, in whole sentences; it quotes what fits of the prompt, if there is one. */
export function prose(prompt: string, words: number, seed: number, images = 0): string {
  const parts: string[] = []
  let left = words
  const add = (sentence: string): boolean => {
    if (wordCount(sentence) > left) return false
    parts.push(sentence)
    left -= wordCount(sentence)
    return true
  }
  add(OPENINGS[seed % OPENINGS.length]!)
  if (images > 0) add(`You sent ${images} image${images === 1 ? '' : 's'}.`)
  const quoted = prompt
    .slice(0, MAX_QUOTED_PROMPT)
    .trim()
    .split(/\s+/)
    .slice(0, left - 2)
    .join(' ')
  if (quoted && left > 2) add(`You wrote: “${quoted.toWellFormed()}”.`)
  for (let index = seed; add(SENTENCES[index % SENTENCES.length]!); index++);
  if (left > 0) add(CLOSINGS[left - 1]!)
  return parts.join(' ')
}

function jsonCompletion(request: SimulatedRequest, behaviour: Behaviour): string {
  const value = request.responseFormat?.schema
    ? schemaInstance(request.responseFormat.schema, request.prompt)
    : { answer: prose(request.prompt, Math.min(behaviour.words, 40), textHash(request.prompt)), words: 40 }
  const text = JSON.stringify(value)
  // Slightly broken in the ways models really are: a trailing comma and no closing brace.
  return behaviour.brokenJson ? `${text.slice(0, -1)},` : text
}

/** Goes on from the length of the prefill, as a model that supports assistant prefill does. */
function afterPrefill(whole: string[], prefill: string): string[] {
  let consumed = ''
  let index = 0
  while (index < whole.length && consumed.length < prefill.length) consumed += whole[index++]
  const rest = consumed.slice(prefill.length)
  return rest ? [rest, ...whole.slice(index)] : whole.slice(index)
}

function limitPieces(groups: string[][], limit: number): { kept: string[][]; shortened: boolean } {
  let left = limit
  let shortened = false
  const kept = groups.map((group) => {
    const part = group.length > left ? group.slice(0, left) : group
    shortened ||= part.length < group.length
    left -= part.length
    return part
  })
  return { kept, shortened }
}

/** Splits a text into pieces of about one token: a word with the space before it, long words in parts. */
function pieces(text: string): string[] {
  const found: string[] = []
  for (const word of text.match(/\s*\S+|\s+$/g) ?? []) {
    if (word.length <= MAX_PIECE_CHARACTERS) found.push(word)
    else found.push(...longWordPieces(word))
  }
  return found
}

function longWordPieces(word: string): string[] {
  const characters = [...word]
  const parts: string[] = []
  for (let start = 0; start < characters.length; start += MAX_PIECE_CHARACTERS) {
    parts.push(characters.slice(start, start + MAX_PIECE_CHARACTERS).join(''))
  }
  return parts
}

const wordCount = (text: string): number => text.split(' ').length

/** FNV-1a, 32 bits: a stable seed for a text. */
export function textHash(text: string): number {
  let value = 0x811c9dc5
  for (let index = 0; index < text.length; index++) {
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193) >>> 0
  }
  return value
}

type Fields = Record<string, unknown>

const MAX_DEPTH = 8

/**
 * A value that fits a JSON Schema, made from a prompt: strings take the prompt's quoted text or its last
 * word, numbers its first number. Covers the part of JSON Schema that tool definitions use. Deterministic.
 */
function schemaInstance(schema: unknown, prompt: string, depth = 0): unknown {
  if (typeof schema !== 'object' || schema === null || depth > MAX_DEPTH) return {}
  const fields = schema as Fields
  if ('const' in fields) return fields.const
  if (Array.isArray(fields.enum) && fields.enum.length > 0) return fields.enum[0]
  const alternatives = [fields.anyOf, fields.oneOf, fields.allOf].find(Array.isArray)
  if (alternatives && alternatives.length > 0) return schemaInstance(alternatives[0], prompt, depth + 1)

  const type = Array.isArray(fields.type) ? fields.type[0] : fields.type
  switch (type) {
    case 'string':
      return promptText(prompt)
    case 'integer':
      return Math.trunc(promptNumber(prompt))
    case 'number':
      return promptNumber(prompt)
    case 'boolean':
      return true
    case 'null':
      return null
    case 'array':
      return [schemaInstance(fields.items ?? { type: 'string' }, prompt, depth + 1)]
    default:
      return objectInstance(fields, prompt, depth)
  }
}

function objectInstance(schema: Fields, prompt: string, depth: number): Fields {
  const properties = (schema.properties ?? {}) as Fields
  return Object.fromEntries(
    Object.entries(properties).map(([name, property]) => [name, schemaInstance(property, prompt, depth + 1)]),
  )
}

function promptText(prompt: string): string {
  const quoted = /["“']([^"”']{1,200})["”']/.exec(prompt)?.[1]
  const words = prompt.split(/[\s.,;:!?]+/).filter((word) => word.length > 0)
  return quoted ?? words.at(-1) ?? 'example'
}

const promptNumber = (prompt: string): number => Number(/-?\d+(?:\.\d+)?/.exec(prompt)?.[0] ?? 1)
