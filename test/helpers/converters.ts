import { globSync } from 'node:fs'
import { join } from 'node:path'
import type { TSchema } from 'typebox'
import { PresetSettings } from '../../src/core/api/presets.ts'
import { createValidator } from '../../src/core/api/schema-validator.ts'
import { readBody, writeBody } from '../../src/core/calls/call-body.ts'
import { type CallRequest, kindOf } from '../../src/core/calls/kinds/call-kinds.ts'
import { inputItems, referencedCalls, withReferencedItems } from '../../src/core/calls/responses-items.ts'
import { WIRES, type Wire } from '../../src/core/catalog/catalog.ts'
import { ApiError } from '../../src/core/kernel/errors.ts'
import * as applyPreset from '../../src/core/presets/apply-preset.ts'
import { readPresetSettings } from '../../src/core/presets/preset.ts'
import { createSign } from '../../src/providers/credentials/create-sign.ts'
import { createProviderClients } from '../../src/providers/provider-clients.ts'
import { WIRE_MAPPINGS } from '../../src/providers/wires.ts'
import { type Growth, growthsOf } from './growing-bodies.ts'
import { planOf } from './plan-of.ts'
import { model, offer, provider, snapshot } from './planned-catalog.ts'
import { many } from './worst-inputs.ts'

/** A schema of what clients send, with the functions beside it that read it. */
export interface Reader {
  name: string
  growths: Growth[]
  refusalOf: (body: unknown) => Error | null
  reads: Array<(body: unknown, context: object) => unknown>
}

const ROOT = join(import.meta.dirname, '../..')
/** What is beyond is options. */
const PLACES_MAX = 3
const READER = /^(normalize|parse)[A-Z]/
const SCHEMA = /(Body|Form|Settings)$/

const FILES = [{ field: 'image', ref: 'r', bytes: 8, head: Buffer.from('89504e470d0a1a0a', 'hex') }]

/** What readers need besides the body. */
const CONTEXT = { history: [], openReasoning: () => null, anyWire: true }

/** Every reader beside the schema of its body, in the modules of calls and presets. */
export async function readers(): Promise<Reader[]> {
  const files = globSync('src/core/{calls,presets,api}/**/*.ts', { cwd: ROOT })
  const found: Reader[] = []
  for (const file of files) {
    const exports = Object.entries((await import(join(ROOT, file))) as Record<string, unknown>)
    const reads = exports.flatMap(([name, value]) =>
      typeof value === 'function' && READER.test(name) ? (value as Reader['reads'][0]) : [],
    )
    if (reads.length === 0) continue
    const driven = new Set<string>()
    for (const [name, value] of exports) {
      if (typeof value !== 'object' || !SCHEMA.test(name)) continue
      // Two bodies of one module have fields in common.
      const growths = growthsOf(value as TSchema)
        .filter((growth) => !driven.has(growth.name))
        .flatMap(alsoAnswered)
      for (const growth of growths) driven.add(growth.name)
      // The fields of forms are validated by their reader.
      const refusalOf = name.endsWith('Form') ? () => null : createValidator(value as TSchema)
      found.push({ name, growths, refusalOf, reads })
    }
  }
  return found
}

/** A function with a value of which one thing grows at one of its places. */
export interface DrivenFunction {
  name: string
  call: (value: unknown) => void
}

/**
 * Every function that a module of these files exports, by module, at each of its places. What a function makes of a value
 * that is not for it, an error mostly, is its own affair: it has to come soon.
 */
export async function everyFunction(files: string): Promise<Array<[file: string, DrivenFunction[]]>> {
  const modules = globSync(files, { cwd: ROOT }).map(async (file): Promise<[string, DrivenFunction[]]> => {
    const exports = Object.entries((await import(join(ROOT, file))) as Record<string, unknown>)
    return [
      file,
      exports.flatMap(([name, value]) =>
        typeof value === 'function' ? atPlaces(name, value as AnyFunction) : [],
      ),
    ]
  })
  return Promise.all(modules)
}

type AnyFunction = (...given: unknown[]) => unknown

function atPlaces(name: string, run: AnyFunction): DrivenFunction[] {
  const places = many(Math.min(Math.max(1, run.length), PLACES_MAX), (place) => place)
  return places.map((place) => ({
    name: `${name}, ${place}`,
    call(value) {
      const given = many(Math.max(1, run.length), (index) => (index === place ? value : {}))
      anyway(() => {
        const made = run(...given)
        if (made instanceof Promise) made.catch(() => undefined)
      })
    },
  }))
}

const SETTINGS: PresetSettings = {
  model: 'a0',
  temperature: 1,
  system: 'Be brief.',
  stop: ['a'],
  provider: {},
}

const UPSTREAM_MODELS: Record<Wire, string[]> = {
  'chat-completions': ['gpt-5'],
  'anthropic-messages': ['claude-opus-4-7', 'claude-3-haiku'],
  'google-generate-content': ['gemini-3-pro'],
  responses: ['gpt-5-codex'],
  'bedrock-converse': ['us.anthropic.claude-sonnet-4-5-20250929-v1:0'],
}
const OFFERS = WIRES.flatMap((wire) =>
  UPSTREAM_MODELS[wire].map((upstream) =>
    offer(provider(upstream, { wire }), 1, { reasons: true }, upstream),
  ),
)

const CATALOG = snapshot([
  model('a0', OFFERS, {
    contextLength: Number.MAX_SAFE_INTEGER,
    supportedParameters: ['tools', 'tool_choice', 'response_format', 'stop', 'logprobs'],
    inputModalities: ['text', 'image', 'file', 'audio', 'video'],
  }),
])
const PLANNING = {
  defaultCompletionLimit: 100,
  maxCandidates: 8,
  byokFeePercent: 5,
  random: () => 0.5,
}

const sent: string[] = []
const clients = createProviderClients({
  sign: createSign(Date.now),
  wires: WIRE_MAPPINGS,
  transport: { post: ({ body }) => void sent.push(String(body)) },
  ourKey: () => 'key',
  connectTimeoutMs: 1,
  now: () => 0,
})

/** Everything that is made of what was read, at the API and at a worker. Returns what providers would be sent. */
function convert(read: CallRequest): string[] {
  const kind = kindOf(read.content)
  kind.texts(read.content)
  kind.media(read.content)
  attempt(() => planOf({ ...read, models: ['a0'] }, 1, CATALOG, PLANNING))
  const content = readBody(writeBody(read.content))
  const uncached = kind.withoutCaching?.(content) ?? content
  sent.length = 0
  for (const each of OFFERS)
    clients(each.provider.wire)
      .attempt(
        {
          content: each.upstreamModel.includes('opus') ? content : uncached,
          offer: each,
          accountId: 'acct_1',
          completionLimit: 64,
          extended: true,
          cachesPrompt: true,
          image: { quality: '', size: '1024x1024', unitsEach: 1 },
          limits: { firstTokenMs: 1, idleMs: 1, totalMs: 1 },
          signal: new AbortController().signal,
        },
        () => undefined,
      )
      .catch(() => undefined)
  return sent.splice(0)
}

/** Reads a body as routes do, and converts what comes of it. Returns what providers are sent, as text. */
export function served({ refusalOf, reads }: Reader, body: unknown): string[] {
  if (refusalOf(body)) return []
  const { input } = body as { input?: unknown[] }
  if (Array.isArray(input)) {
    attempt(() => referencedCalls(input))
    const stored = inputItems(input, 'chatcmpl_0', () => true)
    withReferencedItems(input, stored)
    // Continued by its id, the same items come before those of the body.
    for (const read of reads)
      attempt(() => read({ ...(body as object), input: 'Go on.' }, { ...CONTEXT, history: stored }))
  }
  for (const apply of Object.values(applyPreset)) anyway(() => apply(body as never, SETTINGS))
  const requests = reads.map((read) => attempt(() => read(body, CONTEXT)) as Read | null)
  const call = requests.map((request) => request?.call ?? request).find((request) => request?.content)
  return call ? convert(call) : []
}

type Read = CallRequest & { call?: CallRequest }

/** The settings of presets, applied to a body of each surface that has them. */
export function presetReader(): Reader {
  const bodies = [{ messages: [] }, { input: [] }, { messages: [], max_tokens: 1 }]
  const appliedTo = (body: object) => (given: unknown) => {
    const settings = readPresetSettings(given as PresetSettings)
    for (const apply of Object.values(applyPreset)) anyway(() => apply(body as never, settings))
  }
  return {
    name: 'PresetSettings',
    growths: growthsOf(PresetSettings),
    refusalOf: createValidator(PresetSettings),
    reads: bodies.map(appliedTo),
  }
}

/** A body with what readers of forms take: its fields as texts, and a file. */
export function asForm(body: object): object {
  const texts = Object.entries(body).map(
    ([name, value]) => [name, [typeof value === 'string' ? value : JSON.stringify(value)]] as const,
  )
  return Object.defineProperties(body, { fields: { value: new Map(texts) }, files: { value: FILES } })
}

/** Also what fits no such body ends soon. */
function anyway(run: () => unknown): void {
  try {
    run()
  } catch {
    // An answer, too.
  }
}

/** Null for what is refused. */
function attempt(run: () => unknown): unknown {
  try {
    return run()
  } catch (error) {
    if (error instanceof ApiError) return null
    throw error
  }
}

/** A body with a result for each call of a tool in it, in another order. */
function answered(given: Record<string, unknown>): object {
  const turns = given.messages ?? given.input
  if (!Array.isArray(turns)) return given
  const asked = turns.flatMap((turn) => [
    ...listOf(turn, 'tool_calls').map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'a' })),
    ...(turn?.type === 'function_call'
      ? [{ type: 'function_call_output', call_id: turn.call_id, output: 'a' }]
      : []),
  ])
  const uses = turns.flatMap((turn) => listOf(turn, 'content')).filter(({ type }) => type === 'tool_use')
  const results = uses.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'a' }))
  const answers = [
    ...asked.toReversed(),
    ...(results.length > 0 ? [{ role: 'user', content: results.toReversed() }] : []),
  ]
  if (answers.length === 0) return given
  return { ...given, [given.messages ? 'messages' : 'input']: [...turns, ...answers] }
}

/** The same with results for the calls of tools that are in it. */
function alsoAnswered(growth: Growth): Growth[] {
  const make = (count: number) => answered(growth.make(count) as Record<string, unknown>)
  const one = growth.make(1)
  const asks = answered(one as Record<string, unknown>) !== one
  return asks ? [growth, { ...growth, name: `${growth.name}, with results`, make }] : [growth]
}

const listOf = (turn: unknown, name: string): Array<Record<string, unknown>> => {
  const list = (turn as Record<string, unknown> | null)?.[name]
  return Array.isArray(list) ? list : []
}
