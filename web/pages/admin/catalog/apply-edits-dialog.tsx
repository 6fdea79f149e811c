import { queryOptions, useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type {
  CatalogCheckView,
  CatalogEditsApplied,
  CatalogEditsRequest,
  CatalogEditsView,
} from '../../../../src/core/api/catalog.ts'
import { requestJson } from '../../../api/request.ts'
import { ConfirmDialog } from '../../../components/feedback/dialogs.tsx'
import { Note, QueryView } from '../../../components/feedback/messages.tsx'
import { formatCount } from '../../../lib/format.ts'
import type { CatalogContent } from '../../../lib/operators/catalog-edits.ts'

/** Edits to be applied over the current ones. */
export interface ProposedEdits {
  content: CatalogContent
  title: string
  /** The text of the button that applies them. */
  confirm: string
  /** The toast once they are applied. */
  done: string
  /** What will change for calls, in words. */
  what: ReactNode
}

/** Shows what edits do to calls and what they change, and applies them after they are confirmed. */
export function ApplyEditsDialog(props: {
  proposed: ProposedEdits
  /** The edits that the proposal was made from; null: there were none. */
  from: CatalogEditsView | null
  onClose: () => void
  onApplied?: (applied: CatalogEditsApplied) => void
}) {
  const { proposed, from, onClose, onApplied } = props
  const check = useQuery(checkQuery(proposed.content))
  const body: CatalogEditsRequest = { content: proposed.content, expected_version: from?.version ?? null }
  return (
    <ConfirmDialog
      title={proposed.title}
      wide
      confirm={proposed.confirm}
      kind={check.data?.effects.some(isHarmful) ? 'danger' : 'primary'}
      isReady={check.data?.valid ?? false}
      send={() => requestJson<CatalogEditsApplied>('POST', '/admin/api/catalog/edits', body)}
      stale={['/admin/api', '/pricing.json']}
      done={({ edits, announced }) =>
        `${proposed.done} ${announced ? 'It applies everywhere within a second' : 'It applies as each process receives it'} (revision ${edits.version}).`
      }
      onDone={onApplied}
      onClose={onClose}
    >
      {proposed.what}
      <QueryView query={check}>{(view) => <EditEffects check={view} />}</QueryView>
    </ConfirmDialog>
  )
}

type Effect = CatalogCheckView['effects'][number]

/** Takes a model offline, loses money, or gives something away; the gateway names these first. */
export const isHarmful = ({ kind }: Effect): boolean => kind !== 'change'

/** What the gateway says a document would do. */
export const checkQuery = (content: CatalogContent) =>
  queryOptions({
    queryKey: ['catalog-check', content],
    queryFn: ({ signal }) =>
      requestJson<CatalogCheckView>('POST', '/admin/api/catalog/check', { content }, signal),
    // What the catalog is compared with changes; the answer is for one look at a dialog.
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
  })

const GROUPS: ReadonlyArray<{ kind: Effect['kind']; title: string; tone: 'bad' | 'warn' | 'plain' }> = [
  { kind: 'offline', title: 'Goes offline', tone: 'bad' },
  { kind: 'loss', title: 'Unprofitable', tone: 'bad' },
  { kind: 'free', title: 'Free of charge, customers pay nothing', tone: 'warn' },
  { kind: 'change', title: 'Changes', tone: 'plain' },
]

/** More effects of a kind are shown as their number until it is opened. */
const OPEN_MAX = 5

/** The effects of edits on calls, worst first. */
export function EditEffects({ check }: { check: CatalogCheckView }) {
  if (!check.valid)
    return (
      <Note tone="bad" announce>
        <span className="whitespace-pre-line">{check.problems.join('\n')}</span>
      </Note>
    )
  if (check.effects.length === 0) return <Note>No effect on which models can be called, or on prices.</Note>
  return (
    <>
      {GROUPS.map(({ kind, title, tone }) => {
        const count = check.counts[kind]
        const effects = check.effects.filter((effect) => effect.kind === kind)
        return (
          count > 0 && (
            <Note key={kind} tone={tone}>
              <details open={count <= OPEN_MAX}>
                <summary className="font-medium">
                  {title}: {formatCount(count)}
                </summary>
                <ul className="list-disc pl-[1.2em] wrap-anywhere">
                  {effects.map(({ message }) => (
                    <li key={message}>{message}</li>
                  ))}
                  {count > effects.length && <li>and {formatCount(count - effects.length)} more</li>}
                </ul>
              </details>
            </Note>
          )
        )
      })}
    </>
  )
}
