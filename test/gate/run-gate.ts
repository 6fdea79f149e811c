import type { SurfaceEvidence } from '../../src/core/api/surfaces/surface-evidence.ts'
import { type GateContext, SkippedCheck, SUBJECTS, type Subject, type SurfaceGate } from './check.ts'

export interface CheckResult {
  name: string
  subject: Subject
  outcome: 'passed' | 'failed' | 'skipped'
  /** Why it failed or was skipped, or what it remarked. */
  detail: string
}

const DETAIL_CHARS_MAX = 300

/**
 * Runs the checks of a surface one after another. A subject that nothing covers fails as well.
 * @param onResult hears of each check when it has ended, and how long it took, in ms
 */
export async function runGate(
  gate: SurfaceGate,
  context: GateContext,
  onResult: (result: CheckResult, tookMs: number) => void = () => undefined,
): Promise<CheckResult[]> {
  const results: CheckResult[] = []
  for (const { name, subject, run } of gate.checks) {
    const startedAt = performance.now()
    const result = { name, subject, ...(await outcomeOf(run(context))) }
    onResult(result, performance.now() - startedAt)
    results.push(result)
  }
  const covered = new Set([...gate.checks.map(({ subject }) => subject), ...Object.keys(gate.without ?? {})])
  const missing = SUBJECTS.filter((subject) => !covered.has(subject))
  return [
    ...results,
    ...missing.map((subject) => ({
      name: subject,
      subject,
      outcome: 'failed' as const,
      detail: 'no check covers it',
    })),
  ]
}

/** How a check ended; its remark, or why it did not pass. */
export async function outcomeOf(run: Promise<unknown>): Promise<Pick<CheckResult, 'outcome' | 'detail'>> {
  try {
    const remark = await run
    return { outcome: 'passed', detail: typeof remark === 'string' ? remark : '' }
  } catch (error) {
    const message = (error as Error).message.replace(/\s+/g, ' ').slice(0, DETAIL_CHARS_MAX)
    return { outcome: error instanceof SkippedCheck ? 'skipped' : 'failed', detail: message }
  }
}

/** What the gate found, as it is checked in. A check that could not run proves nothing, so with it a surface has not passed. */
export const evidenceOf = (
  results: readonly CheckResult[],
  { date, commit, contract }: Pick<SurfaceEvidence, 'date' | 'commit' | 'contract'>,
): SurfaceEvidence => ({
  date,
  commit,
  passed: results.every(({ outcome }) => outcome === 'passed'),
  contract,
  checks: Object.fromEntries(
    results.map(({ name, outcome, detail }) => [
      name,
      outcome === 'passed' && detail === '' ? outcome : `${outcome}: ${detail}`,
    ]),
  ),
})

/** The results of surfaces as a table for people. */
export function renderResults(results: ReadonlyMap<string, readonly Omit<CheckResult, 'subject'>[]>): string {
  return [...results]
    .map(([surface, checks]) => {
      const width = Math.max(...checks.map(({ name }) => name.length))
      const lines = checks.map(({ name, outcome, detail }) =>
        `  ${outcome.padEnd(8)} ${name.padEnd(width)}  ${detail}`.trimEnd(),
      )
      return [surface, ...lines].join('\n')
    })
    .join('\n\n')
}
