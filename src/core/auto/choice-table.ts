import type { ChatContent } from '../calls/chat-request.ts'
import { chatNeeds } from '../calls/kinds/chat.ts'
import type { CatalogSnapshot } from '../catalog/catalog.ts'
import { autoLadder } from './auto-ladder.ts'
import { canTake, chooseAutoModels, valueModels } from './auto-routing.ts'
import { ROUTING_PROFILES, type RoutingProfile } from './routing-profiles.ts'

type Task = Pick<ChatContent, 'messages' | 'parameters'> & { id: unknown }

/**
 * What `auto` chooses for each task under each profile, as lines of a Markdown table: the model, USD of 1,000 such calls and
 * expected quality, and what the best of the better models would add to both.
 */
export function choiceTable(tasks: readonly Task[], catalog: CatalogSnapshot): string[] {
  const head = ['task', 'kind, score', ...ROUTING_PROFILES]
  const rows = tasks.map(({ id, ...content }) => {
    const { auto } = chatNeeds({ ...content, routingProfile: 'auto' })
    const { kind, score } = valueModels(auto, catalog)
    const choices = ROUTING_PROFILES.map((profile) => choiceCell(content, profile, catalog))
    return [String(id), `${kind} ${score.toFixed(2)}`, ...choices]
  })
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`)
}

function choiceCell(content: Omit<Task, 'id'>, profile: RoutingProfile, catalog: CatalogSnapshot): string {
  const needs = chatNeeds({ ...content, routingProfile: profile })
  const { qualityAt, usdPer1000At, valueAt } = valueModels(needs.auto, catalog)
  const { models, known } = autoLadder(catalog.autoLadder)
  const [first] = chooseAutoModels(needs.auto, needs, catalog, () => true).models
  if (!first) return 'no model'
  const own = models.indexOf(first)
  const [better] = known
    .filter(
      (index) => qualityAt(index) > qualityAt(own) && canTake(models[index]!, needs, needs.auto.tools > 0),
    )
    .sort((a, b) => valueAt(b) - valueAt(a))
  const name = (index: number) => models[index]!.id.replace(/^.*\//, '')
  const chosen = `${name(own)} ${usdPer1000At(own).toFixed(2)} USD, ${percent(qualityAt(own))}`
  if (better === undefined) return chosen
  const usd = usdPer1000At(better) - usdPer1000At(own)
  return `${chosen}; ${name(better)} +${percent(qualityAt(better) - qualityAt(own))}, ${usd < 0 ? '' : '+'}${usd.toFixed(2)} USD`
}

const percent = (share: number): string => `${(100 * share).toFixed(1)}%`
