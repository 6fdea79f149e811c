import { Link } from '@tanstack/react-router'
import type { OperatorActionView } from '../../../src/core/api/operations.ts'
import type { ActivityEntry } from '../../../src/core/api/organisations.ts'
import type { pagesOf } from '../../api/read.ts'
import { actionText, actorText, detailLines } from '../../lib/action-words.ts'
import { SearchForm } from '../form/form.tsx'
import { Breakable, Code } from '../text/code.tsx'
import { Badge, Moment } from '../text/values.tsx'
import { DataTable, ListPanel, TwoLines } from './data-table.tsx'

type Action = ActivityEntry | OperatorActionView

/** Audited actions of members or operators. */
export const ActionTable = ({ actions }: { actions: readonly Action[] }) => (
  <DataTable
    caption="Activity, newest first"
    rows={actions}
    empty="None yet."
    columns={{
      Action: (row) => (
        <>
          {actionText(row.action)}{' '}
          {'outcome' in row && row.outcome === 'failed' && <Badge tone="bad">failed</Badge>}
        </>
      ),
      When: ({ at }) => <Moment at={at} />,
      Target: (row) => <Target action={row} />,
      Details: ({ details }) => <Details details={details} />,
      By: (row) => {
        const { who, by } = 'person' in row ? { who: row.person, by: '' } : actorText(row)
        return (
          <TwoLines second={by && <span className="whitespace-nowrap">{by}</span>}>
            <Breakable text={who} />
          </TwoLines>
        )
      },
    }}
    long={['Details']}
  />
)

function Target({ action }: { action: Action }) {
  const { target } = action
  const name = 'target_name' in action ? action.target_name : null
  const id = <Code>{target}</Code>
  if ('actor' in action && target.startsWith('acct_'))
    return (
      <TwoLines second={name !== null && id}>
        <Link to="/admin/accounts/$id" params={{ id: target }}>
          <Breakable text={name ?? target} />
        </Link>
      </TwoLines>
    )
  return name === null ? <span className="text-sm">{id}</span> : <TwoLines second={id}>{name}</TwoLines>
}

function Details({ details }: { details: Record<string, unknown> }) {
  const { lines, values } = detailLines(details)
  if (lines.length === 0) return <span className="text-muted">–</span>
  return (
    <span className="stack-tight wrap-anywhere">
      {lines.map((line) => (
        <span key={line}>{line}</span>
      ))}
      {values.length > 0 && (
        <details className="disclosure">
          <summary>Values</summary>
          {values.map((value) => (
            <code key={value} className="block text-sm">
              {value}
            </code>
          ))}
        </details>
      )}
    </span>
  )
}

/** All audited actions, or those on one target. `empty`: shown while there are none at all. */
export function ActionLog<T extends Action>(props: {
  target: string | undefined
  onTarget: (search: { target?: string }) => void
  query: ReturnType<typeof pagesOf<T>>
  empty: string
}) {
  const { target, onTarget, query, empty } = props
  return (
    <>
      <SearchForm
        label="Target"
        placeholder="Email or ID"
        initial={target}
        onSearch={(text) => onTarget(text === '' ? {} : { target: text })}
      />
      <ListPanel
        title={target ? `Activity for ${target}` : 'All activity'}
        query={query}
        empty={target ? 'No activity for this target. Search for the full email or ID.' : empty}
      >
        {(actions) => <ActionTable actions={actions} />}
      </ListPanel>
    </>
  )
}
