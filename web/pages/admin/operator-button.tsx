import { useQuery } from '@tanstack/react-query'
import type { OperatorPermission } from '../../../src/core/accounts/operator-permissions.ts'
import { operatorSessionQuery } from '../../api/operator-queries.ts'
import type { Change } from '../../api/use-change.ts'
import { ActionButton } from '../../components/form/action-button.tsx'
import { Button, type ButtonProps } from '../../components/form/button.tsx'
import { type RowAction, RowMenu } from '../../components/form/row-menu.tsx'

/** Says why the operator's role lacks a permission; undefined: it has it. The server enforces it. */
function useRefusal() {
  const { data: session } = useQuery(operatorSessionQuery)
  return (permission: OperatorPermission): string | undefined =>
    session?.permissions[permission].includes(session.role)
      ? undefined
      : `Takes the role ${session?.permissions[permission].join(' or ') ?? ''}`
}

/**
 * A button that is disabled where the operator's role lacks what it does, and says which roles have it. `action`: the
 * change that it makes at once.
 */
export function OperatorButton<Result>(
  props: ButtonProps & { needs: OperatorPermission; action?: Change<void, Result> },
) {
  const { needs, action, ...button } = props
  const reason = useRefusal()(needs)
  if (reason === undefined)
    return action ? <ActionButton {...button} action={action} /> : <Button {...button} />
  return (
    <span title={reason}>
      <Button {...button} disabled about={`${button.about ?? ''} (${reason})`.trim()} />
    </span>
  )
}

type OperatorAction = RowAction & { needs: OperatorPermission }

/** The actions of a row; what the operator's role lacks says which roles have it. */
export function OperatorMenu(props: { about: string; actions: ReadonlyArray<OperatorAction | false> }) {
  const refusal = useRefusal()
  const actions = props.actions.map((action) => action && { ...action, why: refusal(action.needs) })
  return <RowMenu about={props.about} actions={actions} />
}
