import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type AutoChoiceCount, LATEST_CALLS } from '../../billing/reports/auto-choices.ts'
import { type RouterChoiceView, RouterView } from '../../core/api/router.ts'
import { abilitiesOf, easeOf, expectedQuality } from '../../core/auto/model-quality.ts'
import { TASK_KINDS } from '../../core/auto/quality-figure.ts'
import type { CatalogSnapshot } from '../../core/catalog/catalog.ts'
import { formatUsd } from '../../core/kernel/money.ts'
import { createSingleFlight } from '../../core/kernel/single-flight.ts'
import { operatorRoute } from '../plugins/operator-access.ts'

const MEDIUM_DIFFICULTY = 0.5

/** What `auto` chooses, by model and kind of task. */
export const routerRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { readAutoChoices, snapshot: catalog } = app.catalog
  const once = createSingleFlight()
  const view = async (): Promise<RouterView> => ({
    object: 'router',
    latest_calls: LATEST_CALLS,
    choices: choicesView(await readAutoChoices(), catalog()),
  })
  app.get('/router', operatorRoute('read', RouterView), () => once('router', view))
}

function choicesView(choices: readonly AutoChoiceCount[], catalog: CatalogSnapshot): RouterChoiceView[] {
  const abilities = abilitiesOf(catalog.autoLadder)
  const callsOf = new Map<string, number>()
  for (const { kind, calls } of choices) callsOf.set(kind, (callsOf.get(kind) ?? 0) + calls)
  return choices.map(({ spendPico, ...choice }) => {
    const kind = TASK_KINDS.find((known) => known === choice.kind)
    const model = catalog.models.get(choice.model)
    const ability = kind && model && abilities.get(model)?.[kind]
    const quality = ability ? expectedQuality(ability.value, easeOf(kind, MEDIUM_DIFFICULTY)) : null
    return {
      ...choice,
      share: choice.calls / callsOf.get(choice.kind)!,
      spend_usd: formatUsd(spendPico),
      quality,
      // The error of the log-odds times the slope of the logistic there.
      standard_error: quality === null ? null : quality * (1 - quality) * ability!.standardError,
      basis: ability?.basis ?? null,
    }
  })
}
