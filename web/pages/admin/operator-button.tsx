import { useQuery } from '@tanstack/react-query'
import type { OperatorPermission } from '../../../src/core/accounts/operator-permissions.ts'
import { operatorSessionQuery } from '../../api/operator-queries.ts'
import type { Change } from '../../api/use-change.ts'
import { ActionButton } from '../../components/form/action-button.tsx'
import { Button, type ButtonProps } from '../../components/form/button.tsx'

/** Whether the operator's role has a permission; the server enforces it. */
export function useIsPermitted(permission: OperatorPermission): boolean {
  const { data: session } = useQuery(operatorSessionQuery)
  return session?.permissions[permission].includes(session.role) ?? false
}

/**
 * A button that is disabled where the operator's role lacks what it does, and says which roles have it. `action`: the
 * change that it makes at once.
 */
export function OperatorButton<Result>(
  props: ButtonProps & { needs: OperatorPermission; action?: Change<void, Result> },
) {
  const { needs, action, ...button } = props
  const { data: session } = useQuery(operatorSessionQuery)
  if (useIsPermitted(needs))
    return action ? <ActionButton {...button} action={action} /> : <Button {...button} />
  const reason = `Takes the role ${session?.permissions[needs].join(' or ') ?? ''}`
  return (
    <span title={reason}>
      <Button {...button} disabled about={`${button.about ?? ''} (${reason})`.trim()} />
    </span>
  )
}
