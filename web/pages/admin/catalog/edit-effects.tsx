import { queryOptions } from '@tanstack/react-query'
import type { CatalogCheckView } from '../../../../src/core/api/catalog.ts'
import { requestJson } from '../../../api/request.ts'
import { Note } from '../../../components/feedback/messages.tsx'
import { plural } from '../../../lib/format.ts'
import type { CatalogContent } from '../../../lib/operators/catalog-edits.ts'

type Effect = CatalogCheckView['effects'][number]

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
  { kind: 'free', title: 'Free of charge: customers pay nothing', tone: 'warn' },
  { kind: 'change', title: 'Changes', tone: 'plain' },
]

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
        const effects = check.effects.filter((effect) => effect.kind === kind)
        return (
          effects.length > 0 && (
            <Note key={kind} tone={tone}>
              <p className="font-medium">{title}</p>
              <ul className="list-disc pl-[1.2em] wrap-anywhere">
                {effects.map(({ message }) => (
                  <li key={message}>{message}</li>
                ))}
              </ul>
            </Note>
          )
        )
      })}
      {check.more_effects > 0 && (
        <p className="text-muted">And {plural(check.more_effects, 'change')} more.</p>
      )}
    </>
  )
}
