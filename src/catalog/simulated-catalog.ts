import type { Wire } from '../core/catalog/catalog.ts'
import type {
  CatalogDocument,
  DocumentModel,
  DocumentOffer,
  DocumentPrices,
  DocumentProvider,
} from '../core/catalog/catalog-document.ts'
import { SIMULATED_VENDOR } from '../core/catalog/listed-models.ts'
import { parseRate, plainDecimal } from '../core/kernel/money.ts'

/** Behaviours of the simulated providers; docs/simulated-providers.md explains their names. */
const SMALL = 'sim-words-60.latency-80.rate-120'
const MEDIUM = 'sim-words-120.latency-150.rate-80'
const LARGE = 'sim-words-200.latency-250.rate-60'
const TASK = 'sim-latency-30'
const THINKING = 'sim-reasoning-60.words-120.latency-300.rate-80'

type Fields = Omit<DocumentModel, 'id' | 'name' | 'vendor' | 'offers'>

const CHAT = {
  context_length: 131_072,
  max_output_tokens: 16_384,
  input_modalities: ['text'],
  supported_parameters: ['temperature', 'top_p', 'response_format', 'tools'],
}
const VISION = { ...CHAT, input_modalities: ['text', 'image'] }
const WIDE = { context_length: 200_000, max_output_tokens: 32_768 }
/** Fields of models that demonstrate one behaviour, which `auto` never selects. */
const DEMONSTRATION: Fields = {
  ...CHAT,
  supported_parameters: ['temperature', 'top_p', 'response_format'],
  auto: false,
  list_price: usd('0.10', '0.40'),
}

/** Fields of models other than chat models. */
const TEXT: Omit<Fields, 'list_price'> = { context_length: 8_192, input_modalities: ['text'] }
const EMBEDDINGS: Omit<Fields, 'list_price'> = {
  ...TEXT,
  kind: 'embeddings',
  supported_parameters: ['dimensions'],
}

const IMAGE_SIZES = ['256x256', '1024x1024', '1536x1024', '1024x1536']
/** The token counts that the behaviour `image-tokens-3` reports. */
const IMAGE_TOKENS = imageUnits({
  low: [133, 196, 158, 158],
  medium: [1_190, 1_756, 1_372, 1_372],
  high: [4_759, 7_024, 5_488, 5_488],
})
const TOKEN_IMAGES: Fields = {
  context_length: 200_000,
  input_modalities: ['text', 'image'],
  kind: 'image',
  unit: 'image_token',
  image_units: IMAGE_TOKENS,
  supported_parameters: ['background'],
  media: { image_tokens: 2_048 },
  list_price: { ...usd('5', '0'), prompt_image: '8', units: '30' },
}
const SPEECH: Fields = {
  ...TEXT,
  kind: 'speech',
  unit: 'character',
  list_price: { ...usd('0', '0'), units: '15' },
}
const TRANSCRIPTION: Fields = {
  ...TEXT,
  kind: 'transcription',
  input_modalities: ['text', 'audio'],
  unit: 'second',
  list_price: { ...usd('0', '0'), units: '100' },
}
const TRANSLATION: Fields = {
  ...TRANSCRIPTION,
  supported_parameters: ['translations', 'timestamp_granularities'],
}

interface Offers {
  /** Cost of the first, second and third offer, in percent of the list price. */
  costPercents?: readonly number[]
  exactTools?: boolean
}

const EXACT: Offers = { exactTools: true }
/** So cheap that routing tries the first offer first. */
const IN_ORDER: Offers = { costPercents: [1, 75] }

const MODELS: readonly DocumentModel[] = [
  model('Small 1', SMALL, ['alpha', 'beta', 'gamma'], {
    ...CHAT,
    context_length: 32_768,
    max_output_tokens: 8_192,
    list_price: usd('0.15', '0.60'),
  }),
  model('Medium 1', MEDIUM, ['alpha', 'beta', 'gamma'], { ...CHAT, list_price: usd('0.80', '3.20') }, EXACT),
  model('Large 1', LARGE, ['alpha', 'beta'], { ...CHAT, ...WIDE, list_price: usd('3.00', '12.00') }, EXACT),
  model('Open 1', 'sim-words-80.latency-100.rate-100', ['beta', 'gamma'], {
    ...CHAT,
    context_length: 65_536,
    max_output_tokens: 8_192,
    open_weights: true,
    list_price: usd('0.20', '0.40'),
  }),
  model(
    'Reasoning 1',
    THINKING,
    ['alpha', 'gamma'],
    { ...CHAT, max_output_tokens: 65_536, reasoning: true, list_price: usd('1.10', '4.40') },
    EXACT,
  ),
  model(
    'Vision 1',
    'sim-words-90.latency-200.rate-80.tag-vision',
    ['alpha', 'beta'],
    { ...VISION, list_price: usd('1.00', '4.00') },
    EXACT,
  ),
  model(
    'Claude-like 1',
    `${MEDIUM}.tag-messages`,
    ['delta'],
    { ...VISION, ...WIDE, list_price: usd('1.20', '4.80') },
    EXACT,
  ),
  model('Claude-like Thinking 1', `${THINKING}.tag-messages`, ['delta'], {
    ...VISION,
    ...WIDE,
    reasoning: true,
    list_price: usd('2.00', '8.00'),
  }),
  model('Gemini-like 1', 'sim-words-120.latency-120.rate-100.tag-generate', ['epsilon'], {
    ...VISION,
    ...WIDE,
    list_price: usd('0.60', '2.40'),
  }),
  model(
    'Gemini-like Thinking 1',
    'sim-reasoning-60.words-120.latency-250.rate-100.tag-generate',
    ['epsilon'],
    { ...VISION, ...WIDE, reasoning: true, list_price: usd('1.00', '4.00') },
  ),
  model(
    'Every Wire 1',
    'sim-words-80.latency-100.rate-100.tag-every-wire',
    ['alpha', 'delta', 'epsilon', 'eta'],
    { ...CHAT, ...WIDE, list_price: usd('0.50', '2.00') },
    { costPercents: [70, 72, 74, 76] },
  ),
  model('Echo 1', 'sim-echo', ['alpha', 'beta'], {
    ...DEMONSTRATION,
    max_output_tokens: 131_072,
    list_price: usd('0.10', '0.10'),
  }),
  model('Fast 1', 'sim-words-20', ['alpha', 'beta'], {
    ...DEMONSTRATION,
    supported_parameters: CHAT.supported_parameters,
  }),
  model('Embed 1', 'sim-dimensions-8', ['alpha', 'beta'], {
    ...EMBEDDINGS,
    dimensions: 8,
    list_price: usd('0.02', '0'),
  }),
  model('Rerank 1', 'sim-tag-rerank', ['alpha', 'beta'], {
    ...TEXT,
    kind: 'rerank',
    unit: 'search',
    list_price: { ...usd('0', '0'), units: '2000' },
  }),
  model('Rerank 2', 'sim-tag-rerank-tokens', ['alpha', 'beta'], {
    ...TEXT,
    kind: 'rerank',
    list_price: usd('0.05', '0'),
  }),
  model('Moderation 1', 'sim-tag-moderation', ['alpha', 'beta'], {
    ...TEXT,
    kind: 'moderation',
    list_price: usd('0', '0'),
  }),
  model('Image 1', 'sim-image-tokens-3', ['alpha', 'beta'], TOKEN_IMAGES),
  model('Image 2', 'sim-image-urls', ['zeta'], {
    ...TEXT,
    kind: 'image',
    unit: 'image',
    image_units: { '/512x512': 1, '/1024x1024': 2 },
    supported_parameters: ['style'],
    list_price: { ...usd('0', '0'), units: '20000' },
  }),
  model('Speech 1', 'sim-tag-speech', ['alpha', 'beta'], SPEECH),
  model('Transcribe 1', 'sim-tag-transcribe', ['alpha', 'beta'], TRANSLATION),
  model('Transcribe 2', 'sim-tag-transcribe-only', ['alpha', 'beta'], TRANSCRIPTION),
  model('Burst 1', 'sim-words-400.burst-4', ['alpha', 'beta'], DEMONSTRATION),
  model('Paced 1', 'sim-words-200.rate-50.tag-paced', ['alpha', 'beta'], DEMONSTRATION),
]

/** Behaviours that have a model each: `sim/fault-reset` is `sim-reset` at alpha. */
const FAULTS = [
  'status-429-retry-2',
  'status-429',
  'status-408',
  'status-500',
  'status-503',
  'status-400',
  'status-400-context',
  'status-400-policy',
  'status-401',
  'status-402',
  'status-403',
  'status-404',
  'reset',
  'hang',
  'slow-headers',
  'hang-after-headers',
  'hang-after-role',
  'cut-after-5',
  'reset-after-5',
  'end-after-5',
  'stall-after-5',
  'error-event-5',
  'error-event-0',
  'malformed-event',
  'split-bytes',
  'missing-done',
  'missing-usage',
  'absurd-usage',
  'negative-usage',
  'error-body-200',
  'html-200',
  'gzip',
  'empty',
  'refuse',
  'ignore-stream',
  'flaky-1',
]

const FAULT_MODELS: readonly DocumentModel[] = [
  ...FAULTS.map((fault) => faultModel(fault, `sim-${fault}`, ['alpha'])),
  faultModel('fail-on-alpha', 'sim-fail-on-alpha', ['alpha', 'beta'], IN_ORDER),
  faultModel('rescue', 'sim-on-alpha-cut-after-5', ['alpha', 'beta'], IN_ORDER),
  faultModel('no-rescue', 'sim-on-alpha-cut-after-5.different-text', ['alpha', 'beta'], IN_ORDER),
  model(
    'Embed failover',
    'sim-fail-on-alpha.dimensions-8',
    ['alpha', 'beta'],
    { ...EMBEDDINGS, dimensions: 8, list_price: usd('0.10', '0') },
    IN_ORDER,
  ),
  model('Image failover', 'sim-fail-on-alpha.image-tokens-3', ['alpha', 'beta'], TOKEN_IMAGES, IN_ORDER),
  model('Speech failover', 'sim-fail-on-alpha.tag-speech', ['alpha', 'beta'], SPEECH, IN_ORDER),
  model('Transcribe failover', 'sim-fail-on-alpha.tag-transcribe', ['alpha', 'beta'], TRANSLATION, IN_ORDER),
  faultModel('everywhere', 'sim-status-503.tag-everywhere', ['alpha', 'beta', 'gamma']),
]

/** The simulated providers' own names of these models. */
export const SIMULATED_UPSTREAM_MODELS: readonly string[] = [
  ...new Set(
    [...MODELS, ...FAULT_MODELS].flatMap(({ offers }) => offers.map((offer) => offer.upstream_model)),
  ),
]

/** The simulated providers at their address, and their models under `sim/`. */
export function simulatedCatalog(simulatedProvidersUrl: string): CatalogDocument {
  const base = simulatedProvidersUrl.replace(/\/+$/, '')
  const keepsNothing = { zdr: true, data_collection: 'deny' } as const
  const keeps = { zdr: false, data_collection: 'allow' } as const
  const providers: DocumentProvider[] = [
    { id: 'alpha', name: 'Simulated Alpha', base_url: `${base}/alpha/v1`, ...keepsNothing },
    { id: 'beta', name: 'Simulated Beta', base_url: `${base}/beta/v1`, ...keepsNothing },
    { id: 'gamma', name: 'Simulated Gamma', base_url: `${base}/gamma/v1`, ...keeps },
    {
      id: 'delta',
      name: 'Simulated Delta',
      wire: 'anthropic-messages',
      base_url: `${base}/delta/v1`,
      quirks: { one_sampling_parameter: true },
      ...keepsNothing,
    },
    {
      id: 'epsilon',
      name: 'Simulated Epsilon',
      wire: 'google-generate-content',
      base_url: `${base}/epsilon/v1beta`,
      ...keeps,
    },
    { id: 'eta', name: 'Simulated Eta', wire: 'responses', base_url: `${base}/eta/v1`, ...keeps },
    {
      id: 'zeta',
      name: 'Simulated Zeta',
      base_url: `${base}/zeta/v1`,
      quirks: { base64_images: true },
      ...keeps,
    },
  ]
  return {
    source: 'Models of the simulated providers; see docs/simulated-providers.md.',
    dated: '2026-01-05',
    providers,
    models: [...MODELS, ...FAULT_MODELS],
  }
}

/** `Every Wire 1` is `sim/every-wire-1`. */
function model(
  name: string,
  behaviour: string,
  providers: readonly string[],
  fields: Fields,
  { costPercents = [70, 75, 80], exactTools }: Offers = {},
): DocumentModel {
  return {
    id: `${SIMULATED_VENDOR}/${name.toLowerCase().replaceAll(' ', '-')}`,
    name: `Simulated ${name}`,
    vendor: SIMULATED_VENDOR,
    ...fields,
    offers: providers.map((provider, index) => ({
      provider,
      upstream_model: behaviour,
      cost: percentOf(fields.list_price, costPercents[index]!),
      ...(exactTools && { exact_tools: true }),
    })),
  }
}

function faultModel(
  fault: string,
  behaviour: string,
  providers: readonly string[],
  offers?: Offers,
): DocumentModel {
  const name = `Simulated fault: ${fault}`
  return { ...model(`fault-${fault}`, behaviour, providers, DEMONSTRATION, offers), name }
}

/** Units of images of IMAGE_SIZES by quality; medium, the first one, is the default. */
function imageUnits({ medium, ...others }: Record<'medium' | 'low' | 'high', readonly number[]>) {
  const entries = Object.entries({ medium, ...others }).flatMap(([quality, units]) =>
    units.map((each, index) => [`${quality}/${IMAGE_SIZES[index]}`, each] as const),
  )
  return Object.fromEntries(entries)
}

/** A simulated provider that replaces real ones; `costPercent` is of the list price, below any rate. */
const STAND_INS = [
  { provider: 'alpha', costPercent: 70, exactTools: true },
  { provider: 'beta', costPercent: 73, exactTools: true },
  { provider: 'gamma', costPercent: 76, exactTools: false },
] as const
/** One stand-in for each other wire of real providers. */
const STAND_INS_BY_WIRE = {
  'anthropic-messages': { provider: 'delta', costPercent: 79, exactTools: true },
  'google-generate-content': { provider: 'epsilon', costPercent: 79, exactTools: true },
} as const

/** Simulated behaviour by the model's list price per million completion tokens in USD. */
const BEHAVIOURS = [
  { belowUsd: 2, upstreamModel: SMALL },
  { belowUsd: 10, upstreamModel: MEDIUM },
  { belowUsd: Number.POSITIVE_INFINITY, upstreamModel: LARGE },
] as const

function behaviourOf(model: DocumentModel): string {
  const { kind = 'chat', dimensions, list_price: listPrice } = model
  switch (kind) {
    case 'chat':
      return BEHAVIOURS.find(({ belowUsd }) => Number(listPrice.completion) < belowUsd)!.upstreamModel
    case 'image':
      return model.unit === 'image_token' ? `${TASK}.image-tokens-${qualitiesOf(model)}` : TASK
    default:
      return dimensions === undefined ? TASK : `${TASK}.dimensions-${dimensions}`
  }
}

const qualitiesOf = ({ image_units: units = {} }: DocumentModel): number =>
  new Set(Object.keys(units).map((key) => key.split('/')[0])).size

/** Adds an offer with simulated completions to every model of a document. */
export function withStandIns(document: CatalogDocument): CatalogDocument {
  const wires = new Map(document.providers?.map(({ id, wire = 'chat-completions' }) => [id, wire]))
  const models = (document.models ?? []).map((model) => ({
    ...model,
    offers: [
      ...model.offers,
      ...standInsOf(model, new Set(model.offers.map((offer) => wires.get(offer.provider)))),
    ],
  }))
  return { ...document, models }
}

function standInsOf(model: DocumentModel, wires: ReadonlySet<Wire | undefined>): DocumentOffer[] {
  const { list_price: listPrice } = model
  const upstreamModel = behaviourOf(model)
  const ofWires = Object.entries(STAND_INS_BY_WIRE).flatMap(([wire, one]) =>
    wires.has(wire as Wire) ? [one] : [],
  )
  return [...STAND_INS, ...ofWires].map(({ provider, costPercent, exactTools }) => ({
    provider,
    upstream_model: upstreamModel,
    cost: percentOf(listPrice, costPercent),
    exact_tools: exactTools,
  }))
}

/** Truncated to six decimals, like a rate. */
function percentOf(prices: DocumentPrices, percent: number): DocumentPrices {
  const share = (price: string) => plainDecimal(`${(parseRate(price) * BigInt(percent)) / 100n}e-6`, 6)!
  const shares = Object.entries(prices).map(([kind, price]) => [kind, share(price)])
  return Object.fromEntries(shares) as DocumentPrices
}

/** USD per million tokens. */
function usd(prompt: string, completion: string): DocumentPrices {
  return { prompt, completion }
}
