import { catalogOf, type Deployment } from './deployments.ts'
import type { KnownModels } from './known-models.ts'
import { type ImportOptions, type Note, recordOf, type Translation, textOf, textsOf } from './translation.ts'

/** Suffixes of its models that mean the same here. */
const SAME_SUFFIXES = ['nitro', 'floor', 'exacto']

/** Requests to OpenRouter, as an application or a proxy logged them: bodies, or records with `model`. */
export function fromOpenRouter(
  requests: readonly unknown[],
  known: KnownModels,
  options: Pick<ImportOptions, 'keyNames'>,
): Translation {
  const notes: Note[] = []
  const bodies = requests.map((request) =>
    recordOf(recordOf(request).body ?? recordOf(request).request ?? request),
  )
  const named = bodies.flatMap((body) => [textOf(body.model) ?? [], textsOf(body.models)].flat())
  const presets = new Set(bodies.flatMap(({ preset }) => textOf(preset) ?? []))
  const deployments = new Map<string, Deployment>()
  for (const name of new Set(named)) {
    const preset = /^@preset\/(.+)$/.exec(name)?.[1] ?? /@preset\/(.+)$/.exec(name)?.[1]
    if (preset) {
      presets.add(preset)
      continue
    }
    const [model = name, suffix] = name.split(':')
    const what = `model ${name}`
    if (model === 'openrouter/auto') notes.push({ kind: 'differs', what, text: 'ask for auto' })
    else deployments.set(model, { name: model, provider: 'openrouter', model, keyVariable: null })
    if (suffix !== undefined && !SAME_SUFFIXES.includes(suffix))
      notes.push({ kind: 'lost', what, text: `no suffix :${suffix}; ask for ${model}` })
  }
  for (const preset of presets)
    notes.push({
      kind: 'differs',
      what: `preset ${preset}`,
      text: `a log has no settings: save it as @preset/${preset} in the console`,
    })
  const fields = new Set(bodies.flatMap((body) => Object.keys(body)))
  for (const field of ['plugins', 'transforms', 'route'].filter((one) => fields.has(one)))
    notes.push({ kind: 'lost', what: `field ${field}`, text: 'is not read here' })
  const { catalog, notes: ofModels } = catalogOf([...deployments.values()], new Map(), known, options)
  return { catalog, accounts: [], notes: [...ofModels, ...notes] }
}
