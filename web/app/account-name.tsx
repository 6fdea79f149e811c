import { Building2, User } from 'lucide-react'
import type { SessionView } from '../../src/core/api/sessions.ts'

/** What the menu of accounts chooses to create an organisation, instead of the id of an account. */
export const CREATE = 'create'

export const kindOf = ({ is_organisation: isOrganisation, role }: SessionView['accounts'][number]): string =>
  isOrganisation ? `Organisation · ${role}` : 'Personal account'

export function AccountIcon({ isOrganisation }: { isOrganisation: boolean }) {
  const Icon = isOrganisation ? Building2 : User
  return <Icon size={18} className="flex-none text-muted" aria-hidden="true" />
}
