import { readFileSync } from 'node:fs'

/** What the last run of the gate found of the client libraries, by name; checked in. */
export const SDK_EVIDENCE_FILE = new URL('./sdk-evidence.json', import.meta.url)
/** The page with the table of it. */
export const SDKS_PAGE = new URL('../../../docs/client-libraries.md', import.meta.url)

/** What is tried with each library. */
export const SDK_ROWS = [
  'plain',
  'stream',
  'tools',
  'structured',
  'images',
  'abort',
  'retry',
  'methods',
] as const
type SdkRow = (typeof SDK_ROWS)[number]

/** `passed`, `failed: …` or `not applicable: …`. */
export type SdkOutcomes = Record<SdkRow, string>

export interface SdkEvidence {
  language: 'Node' | 'Python'
  version: string
  /** ISO, in UTC. */
  date: string
  outcomes: SdkOutcomes
}

/** Libraries that cannot call the gateway. */
const SDKS_NOT_RUN = [
  { name: '@ai-sdk/gateway', language: 'Node', reason: 'it speaks a protocol of its own to any address' },
]

export const readSdkEvidence = (): Record<string, SdkEvidence> =>
  JSON.parse(readFileSync(SDK_EVIDENCE_FILE, 'utf8'))

const HEAD = ['library', 'for', ...SDK_ROWS, 'version', 'tried'] as const
const TABLE = new RegExp(String.raw`\| ${HEAD.join(String.raw` \| `)} \|\n(\|.*\n)+`)

/** The page with its table as the evidence has it. */
export function withSdkTable(page: string, evidence: Record<string, SdkEvidence>): string {
  if (!TABLE.test(page)) throw new Error('docs/client-libraries.md has no table of libraries')
  return page.replace(TABLE, () => `${renderSdks(evidence)}\n`)
}

/** The matrix of libraries and rows as a table of Markdown. */
export function renderSdks(evidence: Record<string, SdkEvidence>): string {
  const tried = Object.entries(evidence).map(([name, { language, version, date, outcomes }]) => [
    `\`${name.split(' ')[0]}\``,
    language,
    ...SDK_ROWS.map((row) => shown(outcomes[row])),
    version,
    date.slice(0, 10),
  ])
  const others = SDKS_NOT_RUN.map(({ name, language, reason }) => [
    `\`${name}\``,
    language,
    ...SDK_ROWS.map(() => 'n/a'),
    '',
    reason,
  ])
  const lines = [HEAD, HEAD.map(() => '---'), ...tried, ...others]
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

function shown(outcome: string): string {
  if (outcome === 'passed') return 'works'
  return outcome.startsWith('not applicable') ? 'n/a' : 'fails'
}
