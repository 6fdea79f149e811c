import { TIERS } from '../../src/core/auto/tiers.ts'
import type { DatasetResult, Evaluation } from './evaluate.ts'
import type { Protocol } from './held-out-scores.ts'
import type { Interval } from './router-measures.ts'

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
export function evaluationReport(evaluation: Evaluation): string {
  return Object.entries(evaluation)
    .map(([protocol, results]) => section(protocol as Protocol, results))
    .join('\n\n')
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
  'light / standard / strong / frontier',
  'frontier of spend',
  'USD per 1,000 calls',
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
    TIERS.map((tier) => percent(result.byTier.shares[tier])).join(' / '),
    percent(result.byTier.frontierSpend),
    (1000 * result.byTier.usdPerCall).toFixed(2),
  ])
  const lines = [HEADER, HEADER.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`)
  return [`**${sentence(protocol)}**: ${MEANING[protocol]}.`, '', ...lines].join('\n')
}

const sentence = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1)

const decimal = (value: number): string => value.toFixed(3).replace(/^0/, '')

const percent = (share: number): string => `${(100 * share).toFixed(1)}%`

const interval = ({ value, low, high }: Interval): string =>
  `${decimal(value)} (${decimal(low)}–${decimal(high)})`
