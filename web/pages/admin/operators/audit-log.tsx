import { useQuery } from '@tanstack/react-query'
import type { OperatorActionView } from '../../../../src/core/api/operations.ts'
import { operatorsQuery } from '../../../api/operator-queries.ts'
import { DataTable, TwoLines } from '../../../components/table/data-table.tsx'
import { Breakable, Code } from '../../../components/text/code.tsx'
import { Badge, Moment } from '../../../components/text/values.tsx'
import { actionText, actorText, detailLines } from '../../../lib/operators/operator-actions.ts'
import { AccountLink } from '../links.tsx'

/** Rows of the audit log of operators. */
export const ActionTable = ({ actions }: { actions: readonly OperatorActionView[] }) => (
  <DataTable
    caption="Admin activity, newest first"
    rows={actions}
    columns={{
      Action: ({ action, outcome }) => (
        <>
          {actionText(action)} {outcome === 'failed' && <Badge tone="bad">failed</Badge>}
        </>
      ),
      When: ({ at }) => <Moment at={at} />,
      Target: (action) => <Target action={action} />,
      Details: ({ details }) => <Details details={details} />,
      By: (action) => <By action={action} />,
    }}
    long={['Details']}
  />
)

function Target({ action: { target, target_name: name } }: { action: OperatorActionView }) {
  const id = <Code>{target}</Code>
  if (target.startsWith('acct_'))
    return (
      <TwoLines second={name !== null && id}>
        <AccountLink id={target} name={name} />
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

function By({ action }: { action: OperatorActionView }) {
  const { who, by } = actorText(action)
  return (
    <TwoLines second={by && <span className="whitespace-nowrap">{by}</span>}>
      <Breakable text={who} />
    </TwoLines>
  )
}

/** The person behind an actor of the audit log: the id of an admin key or of an operator, or a user of the command line. */
export function ActorName({ actor }: { actor: string }) {
  const { data } = useQuery({ ...operatorsQuery, refetchInterval: false })
  const operator = data?.data.find(({ id, keys }) => id === actor || keys.some((key) => key.id === actor))
  const { who, by } = actorText({ actor, actor_name: operator?.name ?? null, actor_key: null })
  if (operator) return <Breakable text={who} />
  return by === '' ? (
    <Code className="text-sm">{who}</Code>
  ) : (
    <>
      <Breakable text={who} /> ({by})
    </>
  )
}
