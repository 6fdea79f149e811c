import { useQuery } from '@tanstack/react-query'
import type { ComponentProps } from 'react'
import type { Permission } from '../../../src/core/accounts/operator-permissions.ts'
import { operatorSessionQuery } from '../../api/operator-queries.ts'
import { Button } from '../../components/form/button.tsx'

/** Whether the operator's role has a permission; the server enforces it. */
export function useIsPermitted(permission: Permission): boolean {
  const { data: session } = useQuery(operatorSessionQuery)
  return session?.permissions[permission].includes(session.role) ?? false
}

/** A button that is disabled where the operator's role lacks what it does, and says which roles have it. */
export function OperatorButton({ needs, ...button }: ComponentProps<typeof Button> & { needs: Permission }) {
  const { data: session } = useQuery(operatorSessionQuery)
  if (useIsPermitted(needs)) return <Button {...button} />
  const reason = `Takes the role ${session?.permissions[needs].join(' or ') ?? ''}`
  return (
    <span title={reason}>
      <Button {...button} disabled about={`${button.about ?? ''} (${reason})`.trim()} />
    </span>
  )
}
