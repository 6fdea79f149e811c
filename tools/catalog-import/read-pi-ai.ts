import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isChatModelName, type Listing, partPrices } from './listing.ts'
import type { ImportedProvider } from './provider-table.ts'

interface PiAiModel {
  id: string
  name: string
  type: string
  api: string
  reasoning: boolean
  input: string[]
  cost: {
    input: number
    output: number
    cacheRead?: number
    cacheWrite?: number
    tiers?: Array<{ inputTokensAbove: number; input: number; output: number }>
  }
  contextWindow: number
  maxTokens: number
}

/** Not to be had on the maker's chat-completions path, only on its newer one. */
const RESPONSES_ONLY = /^(o1|o3|gpt-[0-9.]+)-pro|codex|cyber|daybreak/

/** What pi-ai lists of a provider: live models that take tools, with windows and modalities. */
export function readPiAi(folder: string, provider: ImportedProvider): Listing[] {
  return readModels(folder, provider.piAi)
    .filter((model) => isChatModelName(model.id))
    .map((model) => toListing(provider, model))
}

/** Names of models that the Hugging Face router serves, which serves open weights only. */
export const readRouterNames = (folder: string): string[] =>
  readModels(folder, 'huggingface').map(({ id }) => id)

/** Every name in any provider's list, with its window. */
export function readPiAiWindows(folder: string): Array<{ name: string; window: number }> {
  const files = readdirSync(join(folder, 'dist', 'providers', 'data')).filter((file) =>
    /^[a-z].*\.json$/.test(file),
  )
  return files
    .flatMap((file) => readModels(folder, file.replace(/\.json$/, '')))
    .map(({ id, contextWindow }) => ({ name: id, window: contextWindow }))
}

function readModels(folder: string, name: string): PiAiModel[] {
  const path = join(folder, 'dist', 'providers', 'data', `${name}.json`)
  if (!existsSync(path)) return []
  const groups = JSON.parse(readFileSync(path, 'utf8')) as Record<string, Record<string, PiAiModel>>
  return Object.values(groups)
    .flatMap((group) => Object.values(group))
    .filter((model) => model.type === 'chat')
}

function toListing(provider: ImportedProvider, model: PiAiModel): Listing {
  const tier = model.cost.tiers?.toSorted((a, b) => a.inputTokensAbove - b.inputTokensAbove)[0]
  return {
    source: 'pi-ai',
    provider,
    upstreamModel: model.id,
    name: model.name,
    price: {
      prompt: model.cost.input,
      completion: model.cost.output,
      ...partPrices({ cacheRead: model.cost.cacheRead, cacheWrite: model.cost.cacheWrite }),
      long: tier ? { aboveTokens: tier.inputTokensAbove, prompt: tier.input, completion: tier.output } : null,
    },
    contextLength: model.contextWindow,
    maxOutputTokens: model.maxTokens,
    inputModalities: model.input,
    reasoning: model.reasoning,
    tools: true,
    responseFormat: null,
    onChatPath: !(provider.maker === 'openai' && RESPONSES_ONLY.test(model.id)),
  }
}
