import { costOf, mostPromptCost } from '../../core/billing/pricing.ts'
import type { AttemptOutcome } from '../../core/calls/attempt-outcome.ts'
import type { ChatMessage, SamplingParameters } from '../../core/calls/chat-request.ts'
import { CompletionBuilder, isDelta } from '../../core/calls/completion.ts'
import type { Model, Offer } from '../../core/catalog/catalog.ts'
import { isObject } from '../../core/json/json-object.ts'
import { promptBoundOf, promptTokensBound } from '../../core/text-tokens/prompt-tokens.ts'
import { countTextTokens } from '../count-tokens.ts'
import type { AttemptRequest, ProviderClient } from '../wire.ts'

/** A feature as its probe found it; `left out`: the model has it not, or it would cost too much. */
export interface FeatureFinding {
  feature: string
  result: 'ok' | 'differs' | 'fails' | 'left out'
  found: string
}

export interface ProviderCheck {
  findings: FeatureFinding[]
  /** At the offer's cost, of what the provider reported. */
  costPico: bigint
}

/** Of all probes together, in pico-USD: a cent. */
const COST_MAX = 10_000_000_000n
const LIMITS = { firstTokenMs: 60_000, idleMs: 60_000, totalMs: 120_000 }

/** One completion of a probe. */
interface Asked {
  outcome: AttemptOutcome
  message: ReturnType<CompletionBuilder['message']>
  firstTokenMs: number | null
}

type Probe = (ask: Ask) => Promise<Omit<FeatureFinding, 'feature'>>
type Ask = (prompt: string | ChatMessage[], more?: Partial<AttemptRequest> & Options) => Promise<Asked>
interface Options {
  parameters?: SamplingParameters
}

/** A probe that the rest of the cent does not cover. */
class TooExpensive extends Error {}

/**
 * Calls a provider for one of its models, feature by feature, through the same client as calls do. A feature that differs
 * from what the catalog or the wire says is a finding, not an error.
 * @param apiKey null: the provider needs none
 */
export async function checkProvider(
  client: ProviderClient,
  { offer, model }: { offer: Offer; model: Model },
  now: () => number,
): Promise<ProviderCheck> {
  let spent = 0n
  const ask: Ask = async (prompt, { parameters = {}, completionLimit = 64, ...more } = {}) => {
    const messages = typeof prompt === 'string' ? [{ role: 'user' as const, content: prompt }] : prompt
    const bound = promptBoundOf({ promptTokensBound: promptTokensBound(messages, parameters) })
    const most = mostPromptCost(bound, offer.cost) + BigInt(completionLimit) * offer.cost.completion
    if (spent + most > COST_MAX) throw new TooExpensive()
    const builder = new CompletionBuilder()
    const askedAt = now()
    const outcome = await client.attempt(
      {
        content: { kind: 'chat', messages, parameters, extended: true },
        extended: true,
        ...{ offer, completionLimit, accountId: 'provider-check', limits: LIMITS },
        signal: new AbortController().signal,
        ...more,
      },
      (progress) => {
        if (isDelta(progress)) builder.add(progress)
      },
    )
    const usage = outcome.kind === 'finished' ? outcome.usage : outcome.produced.usage
    if (usage) spent += costOf(usage, offer.cost)
    const firstTokenMs = outcome.firstTokenAt === null ? null : outcome.firstTokenAt - askedAt
    return { outcome, message: builder.message(), firstTokenMs }
  }
  const findings: FeatureFinding[] = []
  for (const [feature, probe] of Object.entries(probesFor(model))) {
    if (probe === null) {
      findings.push({ feature, result: 'left out', found: 'the catalog says that the model has it not' })
      continue
    }
    try {
      findings.push({ feature, ...(await probe(ask)) })
    } catch (error) {
      if (!(error instanceof TooExpensive)) throw error
      findings.push({ feature, result: 'left out', found: 'it could cost more than what is left of a cent' })
    }
  }
  return { findings, costPico: spent }
}

const ok = (found: string) => ({ result: 'ok' as const, found })
const differs = (found: string) => ({ result: 'differs' as const, found })
const fails = (found: string) => ({ result: 'fails' as const, found })

/** Why an attempt has no completion; null if it has. */
const failureIn = ({ outcome }: Asked): string | null =>
  outcome.kind === 'failed'
    ? `${outcome.failure.kind}, status ${outcome.httpStatus ?? 'none'}: ${outcome.failure.providerMessage ?? outcome.failure.internal}`
    : outcome.kind === 'finished'
      ? null
      : outcome.kind

const WEATHER = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'The weather of a town.',
    parameters: {
      type: 'object',
      properties: { town: { type: 'string' } },
      required: ['town'],
    },
  },
}
const SCHEMA = {
  type: 'object',
  properties: { town: { type: 'string' }, people: { type: 'integer' } },
  required: ['town', 'people'],
  additionalProperties: false,
}
/** 8 × 8 pixels, red. */
const PICTURE =
  'iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEklEQVR4nGP4z8CAFWEXHbQSACj/P8Fu7N9hAAAAAElFTkSuQmCC'
/** Some 1,400 tokens: makers cache prompts from 1,024 on. */
const LONG_LINES = 80
const QUESTION = 'Which town is the capital of Norway? Answer with one word.'

/** The probes by feature; null where the catalog says that the model lacks it. */
function probesFor(model: Model): Record<string, Probe | null> {
  const supports = (name: string) => model.supportedParameters.includes(name)
  return {
    completion: async (ask) => {
      const asked = await ask(QUESTION)
      const failure = failureIn(asked)
      if (failure !== null) return fails(failure)
      const { content } = asked.message
      const seen = `first token after ${asked.firstTokenMs ?? '?'} ms`
      return content ? ok(seen) : differs(`no text within 64 tokens, ${seen}`)
    },
    usage: async (ask) => {
      const { outcome } = await ask(QUESTION)
      if (outcome.kind !== 'finished') return fails(outcome.kind)
      if (outcome.usage === null) return differs('not reported: calls are counted and not read')
      const { promptTokens, completionTokens } = outcome.usage
      const counted = await countTextTokens(QUESTION)
      const bound = promptTokensBound([{ role: 'user', content: QUESTION }], {})
      const found = `${promptTokens} prompt tokens where the text has ${counted}, ${completionTokens} of the completion`
      return promptTokens <= bound ? ok(found) : differs(`${found}; more than the bound of ${bound}`)
    },
    'completion limit': async (ask) => {
      const { outcome } = await ask('Count from 1 to 500, a number a line.', { completionLimit: 24 })
      if (outcome.kind !== 'finished') return fails(outcome.kind)
      const tokens = outcome.usage?.completionTokens
      const found = `ends with ${outcome.reason} after ${tokens ?? 'uncounted'} of 24 tokens`
      return outcome.reason === 'length' && (tokens ?? 0) <= 24 ? ok(found) : differs(found)
    },
    reasoning: model.reasoning
      ? async (ask) => {
          const asked = await ask('What is 17 times 23?', {
            parameters: { reasoning_effort: 'low' },
            completionLimit: 512,
          })
          const failure = failureIn(asked)
          if (failure !== null) return fails(failure)
          const { reasoningTokens } = asked.outcome.produced
          const found = `${reasoningTokens} tokens reported, ${asked.message.reasoning?.length ?? 0} characters shown`
          return reasoningTokens > 0 || asked.message.reasoning ? ok(found) : differs(found)
        }
      : null,
    tools: supports('tools')
      ? async (ask) => {
          const tools = [WEATHER]
          const first = await ask(
            'What is the weather in Oslo and in Bergen? Call get_weather for both at once.',
            {
              parameters: { tools },
              completionLimit: 256,
            },
          )
          const failure = failureIn(first)
          if (failure !== null) return fails(failure)
          const calls = first.message.tool_calls ?? []
          if (calls.length === 0) return differs('a question for a tool is answered without it')
          const broken = calls.filter(({ function: call }) => !isTown(call.arguments))
          if (broken.length > 0) return differs(`arguments that do not fit: ${broken[0]!.function.arguments}`)
          const next = await ask(
            [
              { role: 'user', content: 'What is the weather in Oslo and in Bergen?' },
              { role: 'assistant', content: first.message.content ?? '', tool_calls: calls },
              ...calls.map(({ id }): ChatMessage => ({ role: 'tool', tool_call_id: id, content: 'Snow.' })),
            ],
            { parameters: { tools } },
          )
          const later = failureIn(next)
          if (later !== null) return fails(`the results are refused: ${later}`)
          return ok(`${calls.length === 1 ? 'one call' : `${calls.length} calls`} a turn, results are taken`)
        }
      : null,
    'JSON schema': supports('response_format')
      ? async (ask) => {
          const asked = await ask('Oslo has 700,000 people. Write that as JSON.', {
            parameters: {
              response_format: {
                type: 'json_schema',
                json_schema: { name: 'town', schema: SCHEMA, strict: true },
              },
            },
            completionLimit: 128,
          })
          const failure = failureIn(asked)
          if (failure !== null) return fails(failure)
          const { content } = asked.message
          return isPeople(content ?? '') ? ok('the completion fits it') : differs(`does not fit: ${content}`)
        }
      : null,
    images: model.inputModalities.includes('image')
      ? async (ask) => {
          const image = { type: 'image', source: { mediaType: 'image/png', base64: PICTURE } } as const
          const text = { type: 'text', text: 'Which colour is this? One word.' } as const
          const asked = await ask([{ role: 'user', content: [text, image] }])
          const failure = failureIn(asked)
          return failure === null ? ok(`answers ${asked.message.content?.slice(0, 40)}`) : fails(failure)
        }
      : null,
    'refusal of a field': async (ask) => {
      const { outcome } = await ask(QUESTION, { parameters: { temperature: 99 }, completionLimit: 16 })
      if (outcome.kind === 'finished') return ok('a temperature of 99 is taken or clamped')
      return outcome.kind === 'failed' && outcome.failure.kind === 'bad-request'
        ? ok(
            `status ${outcome.httpStatus}, read as an error of the request, field ${outcome.failure.hint ?? 'unnamed'}`,
          )
        : differs(`a temperature of 99 is read as ${failureOf(outcome)}`)
    },
    'refusal of a key': async (ask) => {
      const { outcome } = await ask(QUESTION, { apiKey: 'not-a-key', completionLimit: 16 })
      if (outcome.kind === 'finished') return differs('a wrong key is served')
      return outcome.kind === 'failed' && outcome.failure.kind === 'refused'
        ? ok(`status ${outcome.httpStatus}, read as a refusal of the key`)
        : differs(`a wrong key is read as ${failureOf(outcome)}`)
    },
    // The dearest comes last.
    'prompt cache': async (ask) => {
      const line = 'The night train to Bergen waits at signal seven until the snow plough has passed.\n'
      const prompt = `${line.repeat(LONG_LINES)}${QUESTION}`
      await ask(prompt, { completionLimit: 16, cachesPrompt: true })
      const asked = await ask(prompt, { completionLimit: 16, cachesPrompt: true })
      const failure = failureIn(asked)
      if (failure !== null) return fails(failure)
      const usage = asked.outcome.kind === 'finished' ? asked.outcome.usage : null
      return usage?.cachedTokens
        ? ok(`${usage.cachedTokens} of ${usage.promptTokens} tokens the second time`)
        : differs('the same prompt twice reads nothing from a cache')
    },
  }
}

const failureOf = (outcome: AttemptOutcome): string =>
  outcome.kind === 'failed' ? `${outcome.failure.kind}, status ${outcome.httpStatus ?? 'none'}` : outcome.kind

const isTown = (json: string): boolean => typeof fieldsOf(json).town === 'string'

function isPeople(json: string): boolean {
  const { town, people } = fieldsOf(json)
  return typeof town === 'string' && Number.isInteger(people)
}

function fieldsOf(json: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(json)
    return isObject(value) ? value : {}
  } catch {
    // A finding of its caller.
    return {}
  }
}
