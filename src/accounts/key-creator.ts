import type { MemberRole } from '../core/accounts/member-permissions.ts'
import type { BudgetedKey } from '../core/billing/budget.ts'
import type { Postgres } from '../platform/postgres/postgres.ts'

/** What a key of an account depends on of the person who made it, as it is now. */
export interface KeyCreator {
  /** Their role in the account; null: they are no member of it any more. */
  role: MemberRole | null
  isSuspended: boolean
  /** What their keys may spend in a month; null: no budget. */
  memberBudget: BudgetedKey['memberBudget']
}

/** The holder of a personal account, whose state is the account's own, and operators, who stand above it. */
const OWNER: KeyCreator = { role: 'owner', isSuspended: false, memberBudget: null }

/** The creator of a key; null for admin keys, which belong to no account. */
export async function keyCreatorOf(
  postgres: Postgres,
  { accountId, createdBy: personId }: { accountId: string | null; createdBy: string | null },
): Promise<KeyCreator | null> {
  if (accountId === null) return null
  if (personId === null || personId === accountId) return OWNER
  const member = await postgres.organisationMember.findUnique({
    where: { accountId_personId: { accountId, personId } },
    select: { role: true, monthlyBudgetPico: true, person: { select: { state: true } } },
  })
  if (!member) return { role: null, isSuspended: false, memberBudget: null }
  const { role, monthlyBudgetPico: limitPico, person } = member
  return {
    role,
    isSuspended: person.state === 'suspended',
    memberBudget: limitPico === null ? null : { memberId: personId, limitPico },
  }
}
