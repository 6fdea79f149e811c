import { readConfig } from '../config.ts'
import { abilitiesOf } from '../core/auto/model-quality.ts'
import type { CatalogSnapshot } from '../core/catalog/catalog.ts'
import { createOutcomeStore } from '../routing/learning/outcome-store.ts'
import { type Interval, type PairCurve, pairCurve, SHARES } from '../routing/learning/pair-curve.ts'
import { loadSnapshot } from './catalog.ts'
import { withClients } from './clients.ts'
import type { CommandOutput } from './run-command.ts'

const NONE = 'There are no shadow pairs of known models. AUTO_SHADOW_PERCENT switches shadows on.'

/** `router report`: cost against quality on the deployment's own traffic, from its shadow pairs. */
export async function reportPairs(
  environment: NodeJS.ProcessEnv,
  withEveryKey: (catalog: CatalogSnapshot) => CatalogSnapshot,
): Promise<CommandOutput> {
  const catalog = await loadSnapshot(environment)
  const { autoLadder } = withEveryKey(catalog)
  const abilities = new Map([...abilitiesOf(autoLadder)].map(([{ id }, known]) => [id, known]))
  const outcomes = await withClients(readConfig(environment), 'switchyard-router', ({ postgres }) =>
    createOutcomeStore(postgres).read(),
  )
  const curve = pairCurve(outcomes, abilities, catalog.autoPointUsd)
  return { data: curve ?? { pairs: 0 }, text: curve === null ? NONE : linesOf(curve).join('\n') }
}

function linesOf({ pairs, models, cheaper, dearer, policies, profiles }: PairCurve): string[] {
  const usd = (each: number) => `${(1_000 * each).toFixed(3)} USD per 1,000`
  return [
    `${pairs} pairs; always the cheaper model: ${cheaper.quality.toFixed(3)} (${usd(cheaper.usd)}), always the dearer: ${dearer.quality.toFixed(3)} (${usd(dearer.usd)})`,
    '',
    `quality at ${SHARES.map((share) => `${100 * share}%`).join(', ')} of the way from the cost of the cheaper to that of the dearer (95%):`,
    ...policies.map(({ policy, quality }) => `  ${policy.padEnd(24)} ${quality.map(interval).join('  ')}`),
    '',
    'profiles, choosing one of the two models of each pair:',
    ...profiles.map(
      ({ profile, quality, usd: each }) => `  ${profile.padEnd(24)} ${interval(quality)}  ${usd(each)}`,
    ),
    '',
    'models, on the prompts that each answered:',
    ...models.map(
      ({ model, answers, quality, usdPer1000 }) =>
        `  ${model.padEnd(40)} ${interval(quality)}  ${answers} answers, ${usdPer1000.toFixed(3)} USD per 1,000`,
    ),
  ]
}

const interval = ({ value, low, high }: Interval): string =>
  `${value.toFixed(3)} (${low.toFixed(3)}–${high.toFixed(3)})`
