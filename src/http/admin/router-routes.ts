import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { CLOSED, line } from '../../core/api/request-fields.ts'
import {
  type RouterChoiceView,
  type RouterQualityView,
  type RouterVersionView,
  RouterView,
} from '../../core/api/router.ts'
import { abilitiesOf, easeOf, expectedQuality } from '../../core/auto/model-quality.ts'
import { TASK_KINDS, type TaskKind } from '../../core/auto/quality-figure.ts'
import type { CatalogSnapshot } from '../../core/catalog/catalog.ts'
import { formatUsd } from '../../core/kernel/money.ts'
import { createSingleFlight } from '../../core/kernel/single-flight.ts'
import { isoTime } from '../../core/kernel/time.ts'
import { type AutoChoice, LATEST_CALLS } from '../../routing/learning/auto-choices.ts'
import { LEAST_PAIRS } from '../../routing/learning/head-gate.ts'
import type { StoredVersion } from '../../routing/learning/version-store.ts'
import { askingOperator, needs } from '../plugins/operator-access.ts'

const InstallRequest = Type.Object({ version: line('version', 1, 20) }, CLOSED)

const VERSIONS_SHOWN = 20
const CHANGES_SHOWN = 20
const MEDIUM_DIFFICULTY = 0.5

/** What `auto` chooses, the learned versions of its router, and which of them applies. */
export const routerRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { autoRouter, outcomes: store, catalog } = app.services
  const once = createSingleFlight()

  const view = async (): Promise<RouterView> => {
    const [versions, outcomes, choices] = await Promise.all([
      autoRouter.versions.list(VERSIONS_SHOWN),
      store.count(),
      autoRouter.readChoices(),
    ])
    return {
      object: 'router',
      installed: await autoRouter.versions.installed(),
      outcomes,
      least_pairs: LEAST_PAIRS,
      latest_calls: LATEST_CALLS,
      choices: choicesView(choices, catalog()),
      versions: versions.map(versionView),
    }
  }

  app.get('/router', { ...needs('read'), schema: { response: { 200: RouterView } } }, () =>
    once('router', view),
  )

  app.post(
    '/router/install',
    { ...needs('catalog.write'), schema: { body: InstallRequest, response: { 200: RouterView } } },
    async (request) => {
      await autoRouter.management.install(askingOperator(request), request.body.version)
      return view()
    },
  )

  app.post(
    '/router/rollback',
    { ...needs('catalog.write'), schema: { response: { 200: RouterView } } },
    async (request) => {
      await autoRouter.management.rollback(askingOperator(request))
      return view()
    },
  )
}

function choicesView(choices: readonly AutoChoice[], catalog: CatalogSnapshot): RouterChoiceView[] {
  const abilities = abilitiesOf(catalog.autoLadder)
  const callsOf = new Map<string, number>()
  for (const { kind, calls } of choices) callsOf.set(kind, (callsOf.get(kind) ?? 0) + calls)
  return choices.map(({ spendPico, ...choice }) => {
    const kind = TASK_KINDS.find((known) => known === choice.kind)
    const model = catalog.models.get(choice.model)
    const ability = kind && model && abilities.get(model)?.[kind]
    const quality = ability ? qualityAt(kind, ability.value) : null
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

const qualityAt = (kind: TaskKind, ability: number): number =>
  expectedQuality(ability, easeOf(kind, MEDIUM_DIFFICULTY))

function versionView({
  id,
  createdAt,
  installedAt,
  isInstalled,
  author,
  report,
}: StoredVersion): RouterVersionView {
  const { feedback, pairs, accounts, gate, quality } = report
  return {
    ...{ version: id, author, feedback, pairs, accounts },
    created_at: isoTime(createdAt),
    installed_at: installedAt && isoTime(installedAt),
    is_installed: isInstalled,
    ranking: gate.difference === null ? null : gate.passes,
    changes: quality
      .map(
        ({ model, kind, outcomes, before, after }): RouterQualityView => ({
          ...{ model, kind, outcomes: Math.round(outcomes) },
          before: qualityAt(kind, before),
          after: qualityAt(kind, after),
        }),
      )
      .sort((a, b) => Math.abs(b.after - b.before) - Math.abs(a.after - a.before))
      .slice(0, CHANGES_SHOWN),
  }
}
