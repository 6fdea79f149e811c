import { wholeNumberProblem } from '../checks.ts'

/** What calls of a conversation have in common. Texts as they were typed; empty: not sent, so the model's default. */
export type ChatSettings = typeof NO_SETTINGS

export const MODELS_MAX = 3

export const NO_SETTINGS = {
  /** One to three; each answers every message. */
  models: ['auto'],
  system: '',
  temperature: '',
  top_p: '',
  max_tokens: '',
  /** One stop sequence a line. */
  stop: '',
  seed: '',
  reasoning_effort: '',
  response_format: '' as '' | 'json_object' | 'json_schema',
  /** The schema of `json_schema`, as JSON. */
  schema: '',
  /** A JSON array of tools. */
  tools: '',
}

/** The settings that are one text each. */
export type TextSetting = Exclude<keyof ChatSettings, 'models' | 'response_format'>

/** Those of them that presets have, too. */
export const SAMPLING_SETTINGS = [
  'system',
  'temperature',
  'top_p',
  'max_tokens',
  'stop',
  'seed',
  'reasoning_effort',
] as const satisfies readonly TextSetting[]
export type SamplingSetting = (typeof SAMPLING_SETTINGS)[number]

const TEXT_SETTINGS: readonly TextSetting[] = [...SAMPLING_SETTINGS, 'schema', 'tools']

export const REASONING_EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const

const STOPS_MAX = 4

/** What is wrong with the settings, by name; the gateway has the last word. */
export function settingsProblems(settings: ChatSettings): Partial<Record<TextSetting, string>> {
  const { temperature, top_p, max_tokens, stop, seed, response_format, schema, tools } = settings
  const found: Partial<Record<TextSetting, string | null>> = {
    temperature: numberProblem(temperature, 2),
    top_p: numberProblem(top_p, 1),
    max_tokens: wholeNumberProblem(max_tokens),
    stop: stopsOf(stop).length > STOPS_MAX ? `At most ${STOPS_MAX} stop sequences.` : null,
    seed: seed === '' || /^-?\d{1,15}$/.test(seed) ? null : 'Enter a whole number.',
    schema: response_format === 'json_schema' ? jsonProblem(schema, isObject, 'a JSON object') : null,
    tools: tools.trim() === '' ? null : jsonProblem(tools, Array.isArray, 'a JSON array of tools'),
  }
  return Object.fromEntries(Object.entries(found).filter(([, problem]) => problem !== null))
}

/** The fields of a request that the settings make; they must have no problems. */
export function settingsBody(settings: ChatSettings): Record<string, unknown> {
  const { temperature, top_p, max_tokens, seed, reasoning_effort: effort, response_format: format } = settings
  const stops = stopsOf(settings.stop)
  return {
    ...(temperature !== '' && { temperature: Number(temperature) }),
    ...(top_p !== '' && { top_p: Number(top_p) }),
    ...(max_tokens !== '' && { max_tokens: Number(max_tokens) }),
    ...(stops.length > 0 && { stop: stops }),
    ...(seed !== '' && { seed: Number(seed) }),
    ...(effort !== '' && { reasoning_effort: effort }),
    ...(format === 'json_object' && { response_format: { type: format } }),
    ...(format === 'json_schema' && {
      response_format: { type: format, json_schema: { name: 'answer', schema: JSON.parse(settings.schema) } },
    }),
    ...(settings.tools.trim() !== '' && { tools: JSON.parse(settings.tools) }),
  }
}

/** How many settings differ from the defaults, models aside. */
export const settingsCount = (settings: ChatSettings): number =>
  TEXT_SETTINGS.filter((name) => name !== 'schema' && settings[name].trim() !== '').length +
  (settings.response_format === '' ? 0 : 1)

/** Typed on one line, a line break in a stop sequence is `\n`. */
const stopsOf = (stop: string): string[] =>
  stop
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.replaceAll('\\n', '\n'))

function numberProblem(text: string, max: number): string | null {
  if (text === '') return null
  const value = Number(text)
  return /^\d*\.?\d+$/.test(text) && value <= max ? null : `Enter a number from 0 to ${max}.`
}

/** What is wrong with a text that is to be JSON, namely `what`; null: nothing. */
export function jsonProblem(text: string, fits: (value: unknown) => boolean, what: string): string | null {
  try {
    return fits(JSON.parse(text)) ? null : `Enter ${what}.`
  } catch (error) {
    return `This is not valid JSON: ${(error as Error).message}.`
  }
}

export const isObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The draft of the playground's message, and of the settings that another page leaves for it. */
export const MESSAGE_DRAFT = 'playground message'
