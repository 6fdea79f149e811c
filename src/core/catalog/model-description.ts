import { formatRate, type PicoUsdPerToken, picoUsdPerToken } from '../kernel/money.ts'
import type { Model, ModelKind, UnitKind } from './catalog.ts'
import { makerName } from './maker-names.ts'

/** The facts of a model that its paragraph is made of. */
export type DescribedModel = Pick<
  Model,
  | 'id'
  | 'name'
  | 'vendor'
  | 'kind'
  | 'unit'
  | 'dimensions'
  | 'imageUnits'
  | 'contextLength'
  | 'maxOutputTokens'
  | 'outputLimitStated'
  | 'inputModalities'
  | 'supportedParameters'
  | 'reasoning'
  | 'openWeights'
  | 'releasedAt'
  | 'deprecatedAt'
  | 'rate'
>

/**
 * One paragraph on a model, from the facts of the catalog alone. Pure: the same facts make the same text; the id chooses
 * between wordings, so that a list of them does not read as a form.
 */
export function describeModel(model: DescribedModel): string {
  const sentences = [introduction(model), ...SENTENCES_OF_KIND[model.kind](model), ...endings(model)]
  return sentences.filter((sentence) => sentence !== null).join(' ')
}

type Sentence = string | null

const NOUNS: Readonly<Record<ModelKind, string>> = {
  chat: 'a chat model',
  embeddings: 'an embedding model',
  rerank: 'a reranking model',
  moderation: 'a moderation model',
  image: 'an image model',
  speech: 'a text-to-speech model',
  transcription: 'a transcription model',
}

/** Families that the names of models begin with or contain. */
const FAMILIES =
  /\b(Claude|GPT|Gemini|Gemma|Llama|Qwen|Mistral|Ministral|Magistral|Devstral|Codestral|Pixtral|Mixtral|DeepSeek|Grok|GLM|Kimi|Command|Nova|Jamba|Granite|Nemotron|Hermes|Phi|MiniMax|ERNIE|Seed|Hunyuan|MiMo|LFM|Ling|Ring|Voyage|Whisper|FLUX)(?=$|[\s\d.-])/

function introduction(model: DescribedModel): string {
  const { id, name, vendor, kind, reasoning, openWeights } = model
  const maker = makerName(vendor)
  const noun = kind === 'chat' && reasoning ? 'a reasoning model' : NOUNS[kind]
  const family = FAMILIES.exec(name)?.[1]
  // A name that is the family's, or the developer's, would be said twice.
  const ofFamily = family && family !== name && family !== maker ? ` of the ${family} family` : ''
  const weights = openWeights ? ', with open weights' : ''
  const released = model.releasedAt ? `, released ${releaseOf(model.releasedAt)}` : ''
  const text = pick(id, [
    `${name} is ${noun}${ofFamily}${weights}, developed by ${maker}${released}.`,
    `${maker} develops ${name}, ${noun}${ofFamily}${weights}${released}.`,
    `${name} by ${maker} is ${noun}${ofFamily}${weights}${released}.`,
  ])
  return [text, sizeOf(name), versionOf(model)].filter((sentence) => sentence !== null).join(' ')
}

/** What a name such as `Qwen3 235B-A22B` says of the parameters; null for one such as `8x7B`. */
function sizeOf(name: string): Sentence {
  const match = /(?<![\w.])(\d+(?:\.\d+)?)B(?:[- ]A(\d+(?:\.\d+)?)B)?(?![\w.])/.exec(name)
  if (!match) return null
  const [, all, active] = match
  const activeText = active === undefined ? '' : `, ${active} billion of them active for each token`
  return `Its name gives it ${all} billion parameters${activeText}.`
}

function versionOf({ name }: DescribedModel): Sentence {
  if (/\(latest\)/i.test(name)) return 'The id is an alias: the developer moves it to newer versions.'
  if (/\((\d{4}-\d{2}(-\d{2})?|\d{2}-\d{2})\)/.test(name)) return 'The id names one dated version.'
  return /\bpreview\b/i.test(name) ? 'It is a preview.' : null
}

const SENTENCES_OF_KIND: Readonly<Record<ModelKind, (model: DescribedModel) => Sentence[]>> = {
  chat: (model) => [inputAndContext(model), abilities(model)],
  embeddings: ({ dimensions, contextLength, supportedParameters }) => [
    `It turns a text of up to ${count(contextLength)} tokens into a vector of ${
      dimensions === undefined ? 'numbers' : `${count(dimensions)} numbers`
    }${supportedParameters.includes('dimensions') ? ', or of fewer on request' : ''}.`,
  ],
  rerank: ({ contextLength }) => [
    `It sorts documents by how well they answer a query, in a context window of ${count(contextLength)} tokens.`,
  ],
  moderation: ({ contextLength }) => [
    `It says which categories of harmful content a text of up to ${count(contextLength)} tokens falls into.`,
  ],
  image: ({ inputModalities, imageUnits = {} }) => {
    const choices = Object.keys(imageUnits).length
    const edits = inputModalities.includes('image') ? ' and edits the images that come with it' : ''
    const made = choices > 1 ? `, in ${choices} combinations of size and quality` : ''
    return [`It makes images from a prompt${edits}${made}.`]
  },
  speech: ({ contextLength }) => [`It reads texts of up to ${count(contextLength)} characters aloud.`],
  transcription: ({ supportedParameters }) => [
    `It writes down what is said in a recording${
      supportedParameters.includes('translations') ? ', and translates it into English on request' : ''
    }.`,
  ],
}

function inputAndContext(model: DescribedModel): string {
  const { id, contextLength, maxOutputTokens, outputLimitStated } = model
  const input = listOf(model.inputModalities.map((modality) => PLURALS[modality] ?? modality))
  const window = `${count(contextLength)} tokens`
  const output = outputLimitStated ? `up to ${count(maxOutputTokens)} tokens` : null
  return pick(`${id} input`, [
    `It reads ${input} in a context window of ${window}${output ? ` and writes ${output} of output` : ''}.`,
    `The context window holds ${window} of ${input}${output ? `, of which ${output} may be output` : ''}.`,
    `It takes ${input} as input, with ${window} of context${output ? ` and ${output} of output` : ''}.`,
  ])
}

const PLURALS: Readonly<Record<string, string>> = { image: 'images', file: 'files', video: 'videos' }

function abilities({ id, supportedParameters, reasoning }: DescribedModel): Sentence {
  const able = [
    supportedParameters.includes('tools') && 'calls tools',
    supportedParameters.includes('response_format') && 'returns JSON that follows a schema',
    reasoning && pick(`${id} reasons`, ['reasons before it answers', 'thinks before it answers']),
  ].filter((ability) => ability !== false)
  return able.length === 0 ? null : `It ${listOf(able)}.`
}

const endings = (model: DescribedModel): Sentence[] => [
  priceSentence(model),
  model.deprecatedAt ? `${makerName(model.vendor)} shuts it down on ${dayOf(model.deprecatedAt)}.` : null,
]

/** USD per million output tokens, up to which a chat model is in a class. */
const PRICE_CLASSES = [
  { upToUsd: 0.5, name: 'lowest' },
  { upToUsd: 2.5, name: 'second lowest' },
  { upToUsd: 10, name: 'middle' },
  { upToUsd: 25, name: 'second highest' },
  { upToUsd: Number.POSITIVE_INFINITY, name: 'highest' },
] as const

/** The number of units that a price is said for. An image token is one of many in an image, like other tokens. */
const PRICED_UNITS: Readonly<Record<UnitKind, readonly [units: bigint, name: string]>> = {
  search: [1_000n, '1,000 searches'],
  image: [1n, 'image of a million pixels'],
  image_token: [1_000_000n, 'million image tokens'],
  character: [1_000_000n, 'million characters'],
  second: [60n, 'minute'],
}

function priceSentence({ id, kind, unit, rate, imageUnits = {} }: DescribedModel): Sentence {
  if (unit !== undefined) {
    const [units, name] = PRICED_UNITS[unit]
    if (unit === 'image') {
      const [usual] = Object.entries(imageUnits)
      return usual
        ? `The default image, ${usual[0].replace(/^\//, '')}, costs ${usd(rate.units, BigInt(usual[1]))}.`
        : null
    }
    return `The price is ${usd(rate.units, units)} per ${name}.`
  }
  if (rate.prompt === 0n && rate.completion === 0n) return 'Its tokens cost nothing.'
  const input = `${usd(rate.prompt)} per million input tokens`
  if (kind !== 'chat') return `The price is ${input}.`
  const both = `${input} and ${usd(rate.completion)} per million output tokens`
  const { name } = PRICE_CLASSES.find(({ upToUsd }) => Number(formatRate(rate.completion)) <= upToUsd)!
  const cache =
    rate.cacheRead === undefined ? '' : ` Cached input is charged ${usd(rate.cacheRead)} per million tokens.`
  return (
    pick(`${id} price`, [
      `At ${both}, it is in the ${name} of five price classes.`,
      `It costs ${both}, the ${name} of five price classes.`,
    ]) + cache
  )
}

/** The price of some units, a million if not said, without needless zeros: `$0.285`, `$3`. */
function usd(rate: PicoUsdPerToken = picoUsdPerToken(0n), units = 1_000_000n): string {
  const pico = rate * units
  const fraction = (pico % PICO).toString().padStart(12, '0').replace(/0+$/, '')
  const cents = fraction === '' ? '' : `.${fraction.padEnd(2, '0')}`
  return `$${count(Number(pico / PICO))}${cents}`
}
const PICO = 1_000_000_000_000n

const count = (number: number): string => number.toLocaleString('en-US')

/** Of many models only the month is known, which the catalog has as its first day. */
const releaseOf = (day: string): string =>
  day.endsWith('-01') ? `in ${dayOf(day).replace('1 ', '')}` : `on ${dayOf(day)}`

/** `2026-09-22` as `22 September 2026`. */
const dayOf = (day: string): string =>
  new Date(`${day}T00:00:00Z`).toLocaleDateString('en-GB', {
    ...{ day: 'numeric', month: 'long', year: 'numeric' },
    timeZone: 'UTC',
  })

/** `a, b and c`. */
const listOf = (parts: readonly string[]): string =>
  parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`

/** The same for the same text; spread over the choices by its characters. */
function pick(text: string, choices: readonly string[]): string {
  let sum = 0
  for (const character of text) sum = (sum * 31 + character.codePointAt(0)!) % 65_521
  return choices[sum % choices.length]!
}
