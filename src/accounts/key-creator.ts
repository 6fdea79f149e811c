import type { MemberRole } from '../core/accounts/member-permissions.ts'
import type { BudgetedKey } from '../core/billing/budget.ts'
import type { Postgres } from '../platform/postgres/postgres.ts'

/** The current data of a key's creator that the key depends on. */
export interface KeyCreator {
  /** The role in the account; null: no longer a member. */
  role: MemberRole | null
  isSuspended: boolean
  /** Monthly spending limit of the creator's keys; null: no budget. */
  memberBudget: BudgetedKey['memberBudget']
}

/** The data for the holder of a personal account, whose state is the account's own, and for operators, who are above it. */
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
