/** The public lists of models that a refresh reads. */
export const PUBLIC_SOURCES = ['models.dev', 'litellm', 'openrouter'] as const
export type PublicSource = (typeof PUBLIC_SOURCES)[number]

/** What one public list says of a model at a provider. Absent: it does not say. */
export interface PublicEntry {
  source: PublicSource
  /** The catalog's id of the provider. */
  provider: string
  /** The model's name there. */
  model: string
  name?: string
  /** USD per million tokens. */
  prices?: PublicPrices
  contextLength?: number
  maxOutputTokens?: number
  inputModalities?: string[]
  tools?: boolean
  /** Output by a schema. */
  responseFormat?: boolean
  temperature?: boolean
  reasoning?: boolean
  openWeights?: boolean
  /** `YYYY-MM-DD`. */
  releasedAt?: string
}

export interface PublicPrices {
  prompt: number
  completion: number
  cacheRead?: number
  cacheWrite?: number
}

/** Reads a list in its published form. Throws if it has not that form. */
export function readPublicListing(source: PublicSource, content: unknown, today: string): PublicEntry[] {
  switch (source) {
    case 'models.dev':
      return Object.entries(fieldsOf(content, source)).flatMap(([provider, { models }]) =>
        Object.entries(fieldsOf(models, source)).map(([id, model]) => ofModelsDev(provider, id, model)),
      )
    case 'litellm':
      return Object.entries(fieldsOf(content, source)).flatMap(([key, model]) => ofLitellm(key, model, today))
    case 'openrouter': {
      const { data } = fieldsOf(content, source) as { data?: unknown }
      if (!Array.isArray(data)) throw notItsForm(source)
      return data.map((model: Fields) => ofOpenRouter(model))
    }
  }
}

type Fields = Record<string, unknown>

const notItsForm = (source: PublicSource) => new Error(`the list is not one of ${source}`)

function fieldsOf(value: unknown, source: PublicSource): Record<string, Fields> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw notItsForm(source)
  return value as Record<string, Fields>
}

/** Providers by what a list calls them, where it differs. */
const MODELS_DEV_NAMES: Record<string, string> = {
  togetherai: 'together',
  'fireworks-ai': 'fireworks',
  'novita-ai': 'novita',
}
const LITELLM_NAMES: Record<string, string> = {
  gemini: 'google',
  moonshot: 'moonshotai',
  together_ai: 'together',
  fireworks_ai: 'fireworks',
  cohere_chat: 'cohere',
  dashscope: 'alibaba',
  vercel_ai_gateway: 'vercel',
  friendliai: 'friendli',
  xiaomi_mimo: 'xiaomi',
  featherless_ai: 'featherless',
}

function ofModelsDev(provider: string, id: string, model: Fields): PublicEntry {
  const { cost, limit, modalities } = model as Record<string, Fields | undefined>
  return {
    source: 'models.dev',
    provider: MODELS_DEV_NAMES[provider] ?? provider,
    model: id,
    ...text('name', model.name),
    ...prices(cost?.input, cost?.output, cost?.cache_read, cost?.cache_write),
    ...count('contextLength', limit?.context),
    ...count('maxOutputTokens', limit?.output),
    ...list('inputModalities', modalities?.input),
    ...flag('tools', model.tool_call),
    ...flag('responseFormat', model.structured_output),
    ...flag('temperature', model.temperature),
    ...flag('reasoning', model.reasoning),
    ...flag('openWeights', model.open_weights),
    ...(/^\d{4}-\d{2}-\d{2}$/.test(String(model.release_date)) && {
      releasedAt: model.release_date as string,
    }),
  }
}

function ofLitellm(key: string, model: Fields, today: string): PublicEntry[] {
  const { litellm_provider: provider, mode, deprecation_date: gone } = model
  if (typeof provider !== 'string' || (mode !== 'chat' && mode !== 'responses')) return []
  if (typeof gone === 'string' && gone <= today) return []
  const parameters = model.supported_openai_params
  return [
    {
      source: 'litellm',
      provider: LITELLM_NAMES[provider] ?? provider,
      model: key.startsWith(`${provider}/`) ? key.slice(provider.length + 1) : key,
      ...prices(
        perMillion(model.input_cost_per_token),
        perMillion(model.output_cost_per_token),
        perMillion(model.cache_read_input_token_cost),
        perMillion(model.cache_creation_input_token_cost),
      ),
      ...count('contextLength', model.max_input_tokens),
      ...count('maxOutputTokens', model.max_output_tokens),
      ...flag('tools', model.supports_function_calling),
      ...flag('responseFormat', model.supports_response_schema),
      ...(Array.isArray(parameters) && { temperature: parameters.includes('temperature') }),
      ...flag('reasoning', model.supports_reasoning),
    },
  ]
}

function ofOpenRouter(model: Fields): PublicEntry {
  const { pricing, top_provider: top, architecture } = model as Record<string, Fields | undefined>
  const parameters = model.supported_parameters
  const takes = (name: string) => Array.isArray(parameters) && parameters.includes(name)
  return {
    source: 'openrouter',
    provider: 'openrouter',
    model: String(model.id),
    ...text('name', String(model.name ?? '').replace(/^[^:]*: /, '')),
    ...prices(
      perMillion(pricing?.prompt),
      perMillion(pricing?.completion),
      perMillion(pricing?.input_cache_read),
      perMillion(pricing?.input_cache_write),
    ),
    ...count('contextLength', model.context_length),
    ...count('maxOutputTokens', top?.max_completion_tokens),
    ...list('inputModalities', architecture?.input_modalities),
    ...(Array.isArray(parameters) && {
      tools: takes('tools'),
      responseFormat: takes('structured_outputs'),
      temperature: takes('temperature'),
      reasoning: takes('reasoning'),
    }),
  }
}

/** Without the noise of binary fractions; undefined for what is no price. */
function perMillion(perToken: unknown): number | undefined {
  const price = typeof perToken === 'string' ? Number.parseFloat(perToken) : perToken
  return typeof price === 'number' && price >= 0 ? Number((price * 1_000_000).toPrecision(9)) : undefined
}

function prices(
  prompt: unknown,
  completion: unknown,
  read: unknown,
  write: unknown,
): Pick<PublicEntry, 'prices'> {
  const isPrice = (value: unknown): value is number => typeof value === 'number' && value > 0
  if (!isPrice(prompt) || !isPrice(completion)) return {}
  return {
    prices: {
      prompt,
      completion,
      ...(isPrice(read) && { cacheRead: read }),
      ...(isPrice(write) && { cacheWrite: write }),
    },
  }
}

const count = (name: string, value: unknown) =>
  Number.isInteger(value) && Number(value) > 0 ? { [name]: Number(value) } : {}
const flag = (name: string, value: unknown) => (typeof value === 'boolean' ? { [name]: value } : {})
const text = (name: string, value: unknown) => (typeof value === 'string' && value ? { [name]: value } : {})
const list = (name: string, value: unknown) =>
  Array.isArray(value) && value.length > 0 ? { [name]: value.map(String) } : {}
