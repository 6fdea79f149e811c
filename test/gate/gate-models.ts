import type { TestModels } from '../helpers/test-catalog.ts'

const ALONE = { auto: false }
const wire = 'anthropic-messages' as const
const EMBEDDINGS = {
  kind: 'embeddings',
  dimensions: 8,
  supported_parameters: ['dimensions'],
  list_price: { prompt: '0.02', completion: '0' },
}
const RERANK = { kind: 'rerank', list_price: { prompt: '0.02', completion: '0' } }
const MODERATION = { kind: 'moderation', list_price: { prompt: '0', completion: '0' } }
const IMAGE = {
  kind: 'image',
  input_modalities: ['text', 'image'],
  unit: 'image',
  image_units: { '/64x64': 1, '/128x64': 2 },
  list_price: { prompt: '0', completion: '0', units: '10000' },
}
const SPEECH = {
  kind: 'speech',
  unit: 'character',
  list_price: { prompt: '0', completion: '0', units: '15' },
}
const TRANSCRIPTION = {
  kind: 'transcription',
  supported_parameters: ['translations'],
  unit: 'second',
  list_price: { prompt: '0', completion: '0', units: '100' },
}
const at = (provider: string, model: string) => ({
  rate: undefined,
  offers: [{ at: provider, model: `${model}.tag-gate`, cost: '0' }],
})

/** Streams as some real providers write them, each at every wire that it concerns. */
const AS_REAL = {
  'no-index': { model: 'calls-no-index.words-12' },
  'one-index': { model: 'calls-one-index.words-12' },
  'empty-ids': { model: 'calls-empty-ids.words-12' },
  objects: { model: 'calls-objects.words-12' },
  'named-stop': { model: 'finish-stop.words-12' },
  nameless: { model: 'nameless-finish.words-12' },
  glued: { model: 'glued.words-12' },
  long: { model: 'long-event-1200.words-12' },
  stale: { model: 'stale.words-12' },
  'late-cache': { model: 'late-cache.words-12' },
  'native-nameless': { model: 'nameless-finish.words-12', wire },
  'native-late-cache': { model: 'late-cache.words-12', wire },
}
const PRICES_CACHE = {
  rate: undefined,
  list_price: { prompt: '1.00', completion: '2.00', cache_read: '0.10' },
}
const asReal = Object.entries(AS_REAL).map(([name, { model, ...more }]) => {
  const at = 'wire' in more ? 'carillon' : 'quillon'
  const offers = [{ at, model: `${model}.tag-gate`, cost: '0', ...more }]
  return [`gate/real-${name}`, { ...ALONE, ...PRICES_CACHE, offers }] as const
})
/** Their names. */
export const AS_REAL_MODELS = asReal.map(([name]) => name)

/** The models that the checks ask for; what their names mean is in docs/simulated-providers.md. */
export const GATE_MODELS: TestModels = {
  'gate/plain': [{ at: 'quillon', model: 'words-12.tag-gate' }],
  ...Object.fromEntries(asReal),
  'gate/tool-error': { ...ALONE, offers: [{ at: 'gazebo', model: 'tool-error-5.words-12.tag-gate' }] },
  'gate/failing': { ...ALONE, offers: [{ at: 'zanzibar', model: 'status-500.tag-gate' }] },
  'gate/refusing': { ...ALONE, offers: [{ at: 'orrery', model: 'status-402.tag-gate' }] },
  'gate/cut': { ...ALONE, offers: [{ at: 'vexillum', model: 'words-12.cut-after-5.tag-gate' }] },
  'gate/extended-failing': { ...ALONE, offers: [{ at: 'samovar', model: 'status-500.tag-gate' }] },
  'gate/native': { ...ALONE, offers: [{ at: 'carillon', model: 'words-12.tag-gate', wire }] },
  'gate/native-cut': { ...ALONE, offers: [{ at: 'tessera', model: 'words-12.cut-after-5.tag-gate', wire }] },
  'gate/native-failing': { ...ALONE, offers: [{ at: 'fescue', model: 'status-500.tag-gate', wire }] },
  'gate/embed': { ...EMBEDDINGS, ...at('quillon', 'dimensions-8') },
  'gate/embed-failing': { ...EMBEDDINGS, ...at('isthmus', 'status-500.dimensions-8') },
  'gate/rerank': { ...RERANK, ...at('quillon', 'words-1') },
  'gate/rerank-failing': { ...RERANK, ...at('dovecot', 'status-500.words-1') },
  'gate/moderation': { ...MODERATION, ...at('quillon', 'words-2') },
  'gate/image': { ...IMAGE, ...at('quillon', 'words-3') },
  'gate/image-failing': { ...IMAGE, ...at('lantern', 'status-500.words-3') },
  'gate/speech': { ...SPEECH, ...at('quillon', 'words-4') },
  'gate/speech-failing': { ...SPEECH, ...at('lantern', 'status-500.words-4') },
  'gate/hear': { ...TRANSCRIPTION, ...at('quillon', 'words-5') },
  'gate/hear-failing': { ...TRANSCRIPTION, ...at('lantern', 'status-500.words-5') },
  'gate/moderation-failing': { ...MODERATION, ...at('lantern', 'status-500.words-2') },
}

/**
 * A model of each wire for the command-line agents. It makes the calls that a prompt scripts, then repeats the prompt,
 * so that an agent without tools finds the edit in the text.
 */
export const AGENT_MODELS = {
  'agent/chat': { ...ALONE, offers: [{ at: 'quillon', model: 'echo.tag-agent' }] },
  'agent/messages': { ...ALONE, offers: [{ at: 'carillon', model: 'echo.tag-agent', wire }] },
  'agent/generate': {
    ...ALONE,
    offers: [{ at: 'marimba', model: 'echo.tag-agent', wire: 'google-generate-content' }],
  },
  'agent/responses': { ...ALONE, offers: [{ at: 'theorbo', model: 'echo.tag-agent', wire: 'responses' }] },
} as const satisfies TestModels

/** Words that name a provider or its target; no answer may hold one. */
export const HIDDEN_WORDS = [
  'words-12',
  'tag-gate',
  'quillon',
  'zanzibar',
  'orrery',
  'vexillum',
  'carillon',
  'tessera',
  'fescue',
  'samovar',
  'isthmus',
  'dovecot',
  'lantern',
  'gazebo',
]

/** What the key for the check of rate limits may call in a minute. */
export const LIMITED_REQUESTS_PER_MINUTE = 2
