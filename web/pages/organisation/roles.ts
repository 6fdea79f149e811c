import type { MemberRole } from '../../../src/core/accounts/member-permissions.ts'

/** Roles, and what they are for. */
export const ROLES: Record<MemberRole, { name: string; may: string }> = {
  owner: { name: 'Owner', may: 'Full access, including owners and deletion' },
  admin: { name: 'Admin', may: 'Everything except ownership' },
  developer: {
    name: 'Developer',
    may: 'Own API keys, playground and usage',
  },
  billing: { name: 'Billing', may: 'Top-ups, receipts, limits and usage; no API keys' },
}

/** The choices of who may give these roles away. */
export const roleOptions = (isOwner: boolean) =>
  (Object.keys(ROLES) as MemberRole[])
    .filter((role) => isOwner || role !== 'owner')
    .map((role) => ({ value: role, name: `${ROLES[role].name}: ${ROLES[role].may}` }))
