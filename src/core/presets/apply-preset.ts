import type { PresetSettings } from '../api/presets.ts'
import type { ChatBody } from '../calls/chat-request.ts'
import type { CountTokensBody, MessagesBody } from '../calls/messages-request.ts'
import type { ResponsesBody } from '../calls/responses-request.ts'
import { isObject } from '../json/json-object.ts'
import { invalid } from '../kernel/errors.ts'

/**
 * A preset counts as if the request had sent its fields: what the request sends itself, other than null, replaces the
 * preset's. `provider` is merged field by field. The system text applies where the request has none.
 */

/** A body with the settings of a preset in place of its name. */
export interface WithPreset<Body> {
  body: Body
  /** The settings that the surface has no field for. */
  leftOut: string[]
}

type Settings = Readonly<PresetSettings>

/** The body with defaults for what it does not send. */
function withDefaults<Body extends object>(body: Body, defaults: object): Body {
  const merged = { ...body } as Record<string, unknown>
  for (const [name, value] of Object.entries(defaults)) if (value !== undefined) merged[name] ??= value
  return merged as Body
}

/** The fields that all surfaces share. `models` of a request replaces the models of the preset. */
function shared<Body extends Pick<ChatBody, 'model' | 'models' | 'provider'>>(
  body: Body,
  { model, models, provider, routing_profile }: Settings,
): Body {
  const preferences = isObject(provider) || isObject(body.provider)
  return {
    ...withDefaults(body, { routing_profile }),
    model: body.models == null ? model : undefined,
    models: body.models ?? models,
    ...(preferences && { provider: withDefaults(body.provider ?? {}, provider ?? {}) }),
  }
}

const given = (settings: Settings, names: ReadonlyArray<keyof PresetSettings>): string[] =>
  names.filter((name) => settings[name] != null)

const isSystem = (message: unknown): boolean =>
  isObject(message) && (message.role === 'system' || message.role === 'developer')

/** Of a chat completion; the stable contract reads only those fields that it has. */
export function onChat<Body extends ChatBody>(body: Body, settings: Settings): WithPreset<Body> {
  const { temperature, top_p, stop, seed, presence_penalty, frequency_penalty, reasoning_effort, system } =
    settings
  const maxTokens = body.max_completion_tokens == null ? settings.max_tokens : undefined
  const sampling = { temperature, top_p, stop, seed, presence_penalty, frequency_penalty, reasoning_effort }
  const merged = withDefaults(shared(body, settings), { ...sampling, max_tokens: maxTokens })
  const takesSystem = system != null && !body.messages.some(isSystem)
  const messages = takesSystem ? [{ role: 'system', content: system }, ...body.messages] : body.messages
  return { body: { ...merged, messages }, leftOut: [] }
}

const STABLE_LEFT_OUT = ['stop', 'seed', 'presence_penalty', 'frequency_penalty', 'reasoning_effort'] as const

/** Of a chat completion of the stable contract. */
export const onStableChat = (body: ChatBody, settings: Settings): WithPreset<ChatBody> => ({
  ...onChat(body, settings),
  leftOut: given(settings, STABLE_LEFT_OUT),
})

/** Of a turn on the responses wire. */
export function onResponses(body: ResponsesBody, settings: Settings): WithPreset<ResponsesBody> {
  const { temperature, top_p, max_tokens, reasoning_effort: effort, system } = settings
  const hasSystem = Array.isArray(body.input) && body.input.some(isSystem)
  const merged = withDefaults(shared(body, settings), {
    temperature,
    top_p,
    max_output_tokens: max_tokens,
    instructions: hasSystem ? undefined : system,
  })
  return {
    body: { ...merged, ...(effort && { reasoning: withDefaults(body.reasoning ?? {}, { effort }) }) },
    leftOut: given(settings, ['stop', 'seed', 'presence_penalty', 'frequency_penalty']),
  }
}

/** The efforts that the messages wire has. */
const MESSAGES_EFFORTS: readonly unknown[] = ['low', 'medium', 'high', 'xhigh', 'max']

/** Of a message on the messages wire, whose requests always have their own `max_tokens`. Throws ApiError. */
export function onMessages(body: MessagesBody, settings: Settings): WithPreset<MessagesBody> {
  const { temperature, top_p, stop, system, reasoning_effort: effort } = settings
  if (body.temperature == null && temperature != null && temperature > 1)
    throw invalid(
      'temperature',
      'The preset has a temperature above 1, the most that the messages wire takes.',
    )
  const merged = withDefaults(shared(body, settings), {
    temperature,
    top_p,
    system,
    stop_sequences: typeof stop === 'string' ? [stop] : stop,
  })
  const takesEffort = MESSAGES_EFFORTS.includes(effort)
  return {
    body: {
      ...merged,
      ...(takesEffort && { output_config: withDefaults(body.output_config ?? {}, { effort }) }),
    },
    leftOut: [
      ...given(settings, ['seed', 'presence_penalty', 'frequency_penalty']),
      ...(takesEffort ? [] : given(settings, ['reasoning_effort'])),
    ],
  }
}

/** Of a count of tokens, for the first model of the preset. */
export const onTokenCount = (body: CountTokensBody, settings: Settings): WithPreset<CountTokensBody> => {
  const { model, models, system } = settings
  return {
    body: { ...withDefaults(body, { system }), model: model ?? models?.[0] },
    leftOut: [],
  }
}
