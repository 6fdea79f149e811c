import { canonicalId } from './canonical-id.ts'
import { IMPORTED_PROVIDERS } from './provider-table.ts'
import { LITELLM_NAMES } from './read-litellm.ts'

/** What a public source says a model takes. Absent: it does not say, or its entries of hosts differ. */
export type ParameterFacts = { [Fact in (typeof FACTS)[number]]?: boolean }

/**
 * `temperature` stands for `top_p` too. `response_format` means output by a schema, `reasoning` that the model takes
 * an effort. No source states `seed` or penalties.
 */
export const FACTS = ['tools', 'response_format', 'temperature', 'reasoning'] as const

/** The form of public-parameters.json. */
export interface PublicParameters {
  sources: Record<ParameterSource, { origin: string; licence: string; dated: string }>
  /** By the catalog's id. */
  models: Readonly<Record<string, Evidence>>
}

export type ParameterSource = 'litellm' | 'models.dev'

/** What each source states about one model. */
export type Evidence = Partial<Record<ParameterSource, ParameterFacts>>

/** One source's entry of one model at one provider. */
export interface ParameterEntry {
  /** As the source names it. */
  provider: string
  model: string
  facts: ParameterFacts
}

/** Of hosts that state a fact, how many have to agree. */
const AGREEING_SHARE = 0.9

/** Makers by what the sources call their own services. */
const MAKERS = new Map(
  IMPORTED_PROVIDERS.flatMap(({ provider: { id }, maker }) =>
    maker === null ? [] : [[id, maker] as const, [LITELLM_NAMES[id] ?? id, maker] as const],
  ),
)

/** Finds the facts about a model in a source: its maker's, or those on which the hosts agree. */
export function factsByModel(entries: readonly ParameterEntry[]): (id: string) => ParameterFacts {
  const named = entries.map((entry) => {
    const maker = MAKERS.get(entry.provider) ?? null
    return { ...entry, maker, canonical: canonicalId(maker, entry.model) }
  })
  const byKey = Map.groupBy(named, ({ canonical }) => canonical?.key)
  return (id) => {
    const { key, vendor } = canonicalId(id.includes('/') ? null : 'openai', id)!
    // A fast or dated Claude is the model of the plain name.
    const plainKey = vendor === 'anthropic' ? key.replace(/(fast|20\d{6})$/, '') : key
    const found = byKey.get(key) ?? byKey.get(plainKey) ?? []
    const own = found.filter(({ maker }) => maker === vendor)
    return Object.fromEntries(
      FACTS.flatMap((fact) => {
        const valuesOf = (some: typeof found) => some.map(({ facts }) => facts[fact])
        const value = agreed(valuesOf(own)) ?? agreed(valuesOf(found))
        return value === undefined ? [] : [[fact, value]]
      }),
    )
  }
}

function agreed(values: ReadonlyArray<boolean | undefined>): boolean | undefined {
  const stated = values.filter((value) => value !== undefined)
  const yes = stated.filter(Boolean).length
  if (stated.length === 0) return undefined
  if (yes >= stated.length * AGREEING_SHARE) return true
  return stated.length - yes >= stated.length * AGREEING_SHARE ? false : undefined
}

/** Claude models that litellm knows to reject sampling parameters also where its table does not mark them. */
const CLAUDE_WITHOUT_SAMPLING = /fable|opus-4[-.][78]/

/**
 * The entries of litellm's table. It marks only models that reject or ignore sampling parameters. An unmarked model
 * may be unchecked, except a Claude: litellm sends these parameters to every other Claude.
 */
export function readLitellmParameters(json: string): ParameterEntry[] {
  return Object.entries(JSON.parse(json) as Record<string, Record<string, unknown>>)
    .filter(([, { mode }]) => mode === 'chat' || mode === 'responses')
    .map(([name, row]) => {
      const provider = String(row.litellm_provider)
      return {
        provider,
        model: name.startsWith(`${provider}/`) ? name.slice(provider.length + 1) : name,
        facts: {
          ...stated('tools', row.supports_function_calling),
          ...stated('response_format', row.supports_response_schema),
          ...stated('temperature', row.supports_sampling_params ?? claudeTakesSampling(name)),
          ...stated('reasoning', row.supports_reasoning),
        },
      }
    })
}

const claudeTakesSampling = (name: string): boolean | undefined =>
  name.includes('claude') ? !CLAUDE_WITHOUT_SAMPLING.test(name) : undefined

const stated = (fact: (typeof FACTS)[number], value: unknown): ParameterFacts =>
  typeof value === 'boolean' ? { [fact]: value } : {}

/**
 * The entries of the copy of models.dev that opencode's program contains, a JavaScript literal:
 * `openai:{id:"openai",env:[…],…,models:{"gpt-5":{id:"gpt-5",name:"GPT-5",…,tool_call:!0,temperature:!1,…}}}`.
 */
export function readModelsDev(program: string): ParameterEntry[] {
  const starts = [...program.matchAll(/\{id:"([^"\\]+)",(env:\[|name:")/g)]
  let provider = ''
  return starts.flatMap(({ 1: id = '', 2: next, index }, position) => {
    if (next === 'env:[') {
      provider = id
      return []
    }
    const text = program.slice(index, starts[position + 1]?.index ?? index + 4_000)
    const flag = (name: string): boolean | undefined => {
      const value = new RegExp(`,${name}:!([01])`).exec(text)?.[1]
      return value === undefined ? undefined : value === '0'
    }
    const facts = {
      ...stated('tools', flag('tool_call')),
      ...stated('response_format', flag('structured_output')),
      ...stated('temperature', flag('temperature')),
      ...stated('reasoning', flag('reasoning')),
    }
    return provider === '' || facts.tools === undefined ? [] : [{ provider, model: id, facts }]
  })
}
