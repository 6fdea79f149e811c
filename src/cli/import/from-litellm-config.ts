import { catalogOf, type Deployment, type DeploymentCatalog } from './deployments.ts'
import type { KnownModels } from './known-models.ts'
import {
  type ImportOptions,
  isRecord,
  listOf,
  type Note,
  numberOf,
  recordOf,
  textOf,
  textsOf,
} from './translation.ts'

const VARIABLE = /^os\.environ\/(.+)$/

/** Parameters of a deployment that are read, or that mean the same here by themselves. */
const READ = new Set([
  ...['model', 'api_base', 'api_key', 'weight', 'custom_llm_provider', 'api_version', 'model_info'],
  ...['input_cost_per_token', 'output_cost_per_token', 'base_model', 'drop_params'],
])

/** Settings that say what this gateway does anyway. */
const MET: Readonly<Record<string, string>> = {
  drop_params: 'parameters that a provider does not take are left out and named in x-ignored-parameters',
  num_retries: 'failed attempts go to the next provider',
  master_key: 'operators have keys and accounts of their own: npm run admin -- operator add',
  database_url: 'DATABASE_URL is of this gateway',
  store_model_in_db: 'the catalog is in the database',
}

/** The `config.yaml` of a LiteLLM proxy, already parsed. Models of its database may be given beside those of the file. */
export function fromLitellmConfig(
  config: unknown,
  known: KnownModels,
  options: Pick<ImportOptions, 'keyNames' | 'environment'>,
  storedModels: readonly unknown[] = [],
): DeploymentCatalog {
  const { model_list, router_settings, litellm_settings, general_settings, ...others } = recordOf(config)
  const router = recordOf(router_settings)
  const settings = recordOf(litellm_settings)
  const notes: Note[] = []
  const deployments = [...listOf(model_list), ...storedModels].flatMap((entry) =>
    deploymentOf(entry, options.environment, notes),
  )

  const lists = [router.fallbacks, settings.fallbacks].flatMap(listOf).map(recordOf)
  const fallbacks = new Map(lists.flatMap(Object.entries).map(([name, after]) => [name, textsOf(after)]))
  for (const { name } of deployments) {
    const after = textsOf(settings.default_fallbacks ?? router.default_fallbacks)
    if (after.length > 0 && !fallbacks.has(name)) fallbacks.set(name, after)
  }
  const groups = Object.entries(recordOf(router.model_group_alias)).flatMap(([alias, group]) => {
    const target = textOf(group) ?? textOf(recordOf(group).model)
    return deployments
      .filter(({ name }) => name === target)
      .map((deployment) => ({ ...deployment, name: alias }))
  })

  const parts = {
    router_settings: router,
    litellm_settings: settings,
    general_settings: recordOf(general_settings),
  }
  for (const [part, fields] of Object.entries(parts))
    for (const [field, value] of Object.entries(fields)) {
      if (['fallbacks', 'default_fallbacks', 'model_group_alias'].includes(field)) continue
      const what = `${part}.${field}`
      if (field === 'routing_strategy')
        notes.push({
          kind: 'differs',
          what,
          text: `${value}: here providers share by price and health; a call may send provider.sort`,
        })
      else if (MET[field]) notes.push({ kind: 'same', what, text: MET[field] })
      else
        notes.push({
          kind: 'lost',
          what,
          text: `${typeof value === 'object' ? 'it' : value}: no equal in the catalog`,
        })
    }
  for (const part of Object.keys(others))
    notes.push({ kind: 'lost', what: part, text: 'no equal in a gateway file' })

  const result = catalogOf([...deployments, ...groups], fallbacks, known, options)
  return { ...result, notes: [...result.notes, ...notes] }
}

function deploymentOf(
  entry: unknown,
  environment: ImportOptions['environment'],
  notes: Note[],
): Deployment[] {
  const { model_name, litellm_params, model_info } = recordOf(entry)
  const params = recordOf(litellm_params)
  const info = recordOf(model_info)
  const [name, named] = [textOf(model_name), textOf(params.model)]
  if (!name || !named || named.includes('*') || name.includes('*')) {
    const text = 'every model of the catalog is called by its id'
    notes.push({ kind: 'differs', what: `deployment ${name ?? 'without a name'}`, text })
    return []
  }
  const slash = named.indexOf('/')
  const provider = textOf(params.custom_llm_provider) ?? (slash < 0 ? 'openai' : named.slice(0, slash))
  const model = named.startsWith(`${provider}/`) ? named.slice(provider.length + 1) : named
  const left = Object.keys(params).filter((field) => !READ.has(field) && params[field] != null)
  if (left.length > 0)
    notes.push({ kind: 'lost', what: `deployment ${name} (${named})`, text: `${left.join(', ')}: no equal` })
  const perMillion = (value: unknown) =>
    ((numberOf(value) ?? 0) * 1e6).toFixed(6).replace(/\.?0+$/, '') || '0'
  const priced = isRecord(params) && params.input_cost_per_token !== undefined ? params : info
  const address = textOf(params.api_base)
  const inVariable = VARIABLE.exec(address ?? '')?.[1]
  const baseUrl = inVariable === undefined ? address : environment[inVariable]
  if (inVariable !== undefined && !baseUrl) {
    notes.push({
      kind: 'lost',
      what: `deployment ${name}`,
      text: `its address is in ${inVariable}, which is not set here`,
    })
    return []
  }
  return [
    {
      ...{ name, provider, model, baseModel: textOf(info.base_model) ?? textOf(params.base_model) },
      ...{ baseUrl, keyVariable: keyVariableOf(textOf(params.api_key), provider, baseUrl) },
      ...{
        weight: numberOf(params.weight),
        contextLength: numberOf(info.max_input_tokens ?? info.max_tokens),
      },
      ...(priced.input_cost_per_token !== undefined && {
        listPrice: {
          prompt: perMillion(priced.input_cost_per_token),
          completion: perMillion(priced.output_cost_per_token),
        },
      }),
    },
  ]
}

/** Undefined: the config has the key itself. Without a key LiteLLM reads the provider's usual variable. */
function keyVariableOf(
  key: string | undefined,
  provider: string,
  baseUrl?: string,
): string | null | undefined {
  const isKeyless = ['hosted_vllm', 'ollama', 'ollama_chat', 'lm_studio'].includes(provider)
  if (key === undefined)
    return baseUrl === undefined || isKeyless ? null : `${provider.toUpperCase()}_API_KEY`
  if (/^(none|fake|dummy|empty|na|n\/a|anything)\b/i.test(key)) return null
  return VARIABLE.exec(key)?.[1]
}
