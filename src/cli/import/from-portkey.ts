import { catalogOf, type Deployment } from './deployments.ts'
import type { KnownModels } from './known-models.ts'
import {
  type ImportOptions,
  isRecord,
  listOf,
  type Note,
  numberOf,
  recordOf,
  type Translation,
  textOf,
} from './translation.ts'

/** Portkey configs: one, a list, or an object of configs by their names. Each becomes an alias that calls name as the model. */
export function fromPortkey(
  source: unknown,
  known: KnownModels,
  options: Pick<ImportOptions, 'keyNames'>,
): Translation {
  const notes: Note[] = []
  const deployments = configsOf(source).flatMap(([name, config]) => {
    const what = `config ${name}`
    const found = targetsOf(name, config, what, notes)
    if (found.length === 0)
      notes.push({ kind: 'lost', what, text: 'names no model: clients send theirs as before' })
    return found
  })
  const { catalog, notes: ofModels } = catalogOf(deployments, new Map(), known, options)
  return { catalog, accounts: [], notes: [...ofModels, ...notes] }
}

function configsOf(source: unknown): Array<[string, Record<string, unknown>]> {
  const isConfig = (value: unknown) =>
    isRecord(value) &&
    ['strategy', 'targets', 'provider', 'virtual_key', 'override_params'].some((field) => field in value)
  if (isConfig(source)) return [['portkey', recordOf(source)]]
  const entries = Array.isArray(source)
    ? source.map((value, index) => [`config-${index + 1}`, value] as const)
    : Object.entries(recordOf(source))
  return entries.map(([key, value]) => {
    const { config, slug, name } = recordOf(value)
    const text = typeof config === 'string' ? JSON.parse(config) : config
    return [textOf(slug) ?? textOf(name) ?? key, recordOf(text ?? value)]
  })
}

/** The models of a config in the order of its targets, nested ones in their place. */
function targetsOf(name: string, target: Record<string, unknown>, what: string, notes: Note[]): Deployment[] {
  const { strategy, targets, provider, virtual_key, override_params, custom_host, weight, ...others } = target
  const { mode, on_status_codes, conditions } = recordOf(strategy)
  const lost = Object.keys(others).filter((field) => !['api_key', 'name', 'retry'].includes(field))
  if (lost.length > 0) notes.push({ kind: 'lost', what, text: `${lost.join(', ')}: no equal` })
  if (mode === 'loadbalance')
    notes.push({ kind: 'differs', what, text: 'loadbalance: the models are tried in their order' })
  if (conditions !== undefined)
    notes.push({ kind: 'lost', what, text: 'conditions: all of its targets are tried in their order' })
  if (on_status_codes !== undefined)
    notes.push({
      kind: 'differs',
      what,
      text: 'on_status_codes: the gateway decides what may be tried again',
    })
  const inner = listOf(targets).flatMap((one) => targetsOf(name, recordOf(one), what, notes))
  const { model, ...parameters } = recordOf(override_params)
  if (Object.keys(parameters).length > 0)
    notes.push({
      kind: 'lost',
      what,
      text: `override_params ${Object.keys(parameters).join(', ')}: a preset sets these`,
    })
  const named = textOf(model)
  if (named === undefined) return inner
  const [, slug, after] = /^@([^/]+)\/(.+)$/.exec(named) ?? []
  const by = textOf(provider)?.replace(/^@/, '') ?? slug ?? textOf(virtual_key) ?? 'openai'
  const baseUrl = textOf(custom_host)
  return [
    {
      name,
      provider: by,
      model: after ?? named,
      baseUrl,
      weight: inner.length > 0 ? undefined : numberOf(weight),
    },
    ...inner,
  ]
}
