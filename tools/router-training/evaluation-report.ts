import type { DatasetResult, Evaluation } from './evaluate.ts'
import type { Protocol } from './held-out-scores.ts'
import type { Interval } from './router-measures.ts'
import { SPENDS, type TierResult } from './tier-curves.ts'
import { SHARES, type ValueResult } from './value-curves.ts'

/** APGR on the same data and by the same definition, best of each, from tables 1 to 3 of the RouteLLM paper. */
const PUBLISHED: Record<string, string> = {
  routellm_mmlu: '.603 with 1,500 labels of the same data, .524 without',
  routellm_gsm8k: '.622 with labels of the same data, .475 without',
}

const MEANING: Record<Protocol, string> = {
  'families left out': 'nothing of this kind of data was trained on',
  'fields left out': 'the field (law, health …) was not trained on, in any data set',
  'subjects left out': 'the subject was not trained on',
  'questions left out': 'other questions of the same subjects were trained on',
}

/** An evaluation as Markdown tables. */
export function evaluationReport({ ranking, value, tiers, curve }: Evaluation): string {
  return [
    ...Object.entries(ranking).map(([protocol, results]) => section(protocol as Protocol, results)),
    ...value.map(valueSection),
    ...(tiers ? [tierSection(tiers)] : []),
    `**The curve of all rows**: \`${JSON.stringify(curve, (_, part) => (typeof part === 'number' ? Number(part.toFixed(2)) : part))}\``,
  ].join('\n\n')
}

function valueSection({ part, rows, models, policies }: ValueResult): string {
  const header = ['policy', ...SHARES.map((share) => `${100 * share}%`), 'cost of the best less two points']
  const named = models.map(
    ({ name, quality, usdPer1000 }) => `${name} ${decimal(quality)} (${usdPer1000.toFixed(2)} USD)`,
  )
  const lines = policies.map(({ policy, qualityAt, costOfTwoPointsLess: cost }) => [
    policy,
    ...qualityAt.map(decimal),
    cost === null ? 'not reached' : `${(100 * cost).toFixed(0)}%`,
  ])
  return [
    `**Choosing among named models, ${part}**: ${rows} rows; quality and cost of 1,000 calls: ${named.join(', ')}. Quality at shares of the best model's cost.`,
    '',
    ...[header, header.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`),
  ].join('\n')
}

function tierSection({ families, tiers, policies, profiles }: TierResult): string {
  const rows = Object.entries(families).map(([family, count]) => `${family} ${count}`)
  const share = (value: number | null) => (value === null ? 'not reached' : `${(100 * value).toFixed(0)}%`)
  const table = (header: string[], lines: string[][]) =>
    [header, header.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
  return [
    `**Four tiers, a mix of all families of equal weight**: ${rows.join(', ')} rows. Cost is a share of always taking \`strong\`.`,
    table(
      ['always', 'quality (95%)', 'cost'],
      tiers.map(({ tier, quality, costShare }) => [tier, interval(quality), share(costShare)]),
    ),
    'Quality at shares of that cost; below, what it is above neighbouring tiers mixed at random.',
    table(
      ['policy', ...SPENDS.map(share), '`frontier` less two points costs, of `frontier`'],
      policies.flatMap(({ policy, quality, aboveRandom, frontierLessTwo }) => [
        [policy, ...quality.map(interval), share(frontierLessTwo)],
        ['', ...aboveRandom.map(signed), ''],
      ]),
    ),
    table(
      ['profile, default price of a point, public figures', 'quality (95%)', 'cost', 'of always `frontier`'],
      profiles.map(({ profile, quality, costShare, ofFrontier }) => [
        profile,
        interval(quality),
        share(costShare),
        share(ofFrontier),
      ]),
    ),
  ].join('\n\n')
}

const HEADER = [
  'data set',
  'rows',
  'APGR (95%)',
  'CPT(50%)',
  'CPT(80%)',
  'prompt length',
  'random',
  'published',
]

function section(protocol: Protocol, results: readonly DatasetResult[]): string {
  const rows = results.map((result) => [
    result.dataset,
    String(result.rows),
    interval(result.apgr),
    interval(result.cpt50),
    interval(result.cpt80),
    decimal(result.promptLength),
    '.500',
    PUBLISHED[result.dataset] ?? '',
  ])
  const lines = [HEADER, HEADER.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`)
  return [`**${sentence(protocol)}**: ${MEANING[protocol]}.`, '', ...lines].join('\n')
}

const sentence = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1)

const decimal = (value: number): string => value.toFixed(3).replace(/^(-?)0/, '$1')

const signed = (all: Interval): string => (all.value < 0 ? '' : '+') + interval(all)

const interval = ({ value, low, high }: Interval): string =>
  `${decimal(value)} (${decimal(low)}–${decimal(high)})`
