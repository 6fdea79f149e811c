import type { MemberRole } from '../../core/accounts/member-permissions.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import type { KeyChange } from '../../platform/redis/key-changes.ts'
import type { AccountActionStore } from '../account-action-store.ts'
import type { MemberStore } from '../organisation/member-store.ts'
import type { StatedIdentity } from './identity-provider.ts'

/** The roles that a sign-in may give, the one with most permissions first. */
export const RULE_ROLES = ['admin', 'billing', 'developer'] as const satisfies readonly MemberRole[]
type RuleRole = (typeof RULE_ROLES)[number]

/** By what sign-ins people become members of an organisation. An operator sets them, who so vouches for the domain. */
export interface SignInRules {
  /** Of verified addresses: `acme.example`. */
  domain?: string | undefined
  /** Of people of the domain. Absent: developer. */
  domain_role?: RuleRole | undefined
  /** By the claim `groups` of the OpenID Connect provider of OIDC_ISSUER. */
  groups?: Record<string, RuleRole> | undefined
}

/** The role that a sign-in gives: the highest of its groups, otherwise that of its domain; null: none. */
export function roleByRules(
  { domain, domain_role: ofDomain = 'developer', groups = {} }: SignInRules,
  identity: Pick<StatedIdentity, 'provider' | 'email' | 'isEmailVerified' | 'groups'>,
): RuleRole | null {
  const named = identity.provider === 'oidc' ? identity.groups : []
  const roles = named.flatMap((group) => (Object.hasOwn(groups, group) ? [groups[group]!] : []))
  const isOfDomain =
    domain !== undefined && identity.isEmailVerified && identity.email.endsWith(`@${domain.toLowerCase()}`)
  return RULE_ROLES.find((role) => roles.includes(role)) ?? (isOfDomain ? ofDomain : null)
}

interface RuledOrganisation {
  id: string
  rules: SignInRules | null
  /** Null: not a member. */
  role: MemberRole | null
  isByRule: boolean | null
}

/** Also those whose rules were deleted since. */
const RULED = `
SELECT account.id, account.sign_in AS rules, member.role::text AS role, member.by_rule AS "isByRule"
FROM accounts AS account
LEFT JOIN organisation_members AS member ON member.account_id = account.id AND member.person_id = $1
WHERE account.deleted_at IS NULL AND account.sign_in IS NOT NULL
UNION
SELECT account.id, account.sign_in, member.role::text, true
FROM organisation_members AS member JOIN accounts AS account ON account.id = member.account_id
WHERE member.person_id = $1 AND member.by_rule AND account.deleted_at IS NULL`

/**
 * Makes the memberships of a person what the rules say of a sign-in: added, with another role, or ended with the keys that the
 * member made. Memberships by an invitation stay. A failure is logged and does not prevent the sign-in.
 */
export type ApplySignInRules = ReturnType<typeof createApplySignInRules>

export function createApplySignInRules(deps: {
  postgres: Postgres
  members: Pick<MemberStore, 'setRole' | 'remove'>
  accountActions: Pick<AccountActionStore, 'record'>
  announce: (change: KeyChange) => Promise<void>
  logger: Logger
}) {
  const { postgres, members, accountActions, announce, logger } = deps

  const change = async (personId: string, organisation: RuledOrganisation, wanted: RuleRole | null) => {
    const { id: accountId, role, isByRule } = organisation
    if (role === wanted || (role !== null && !isByRule)) return
    const details = { role: wanted, by: 'sign-in' }
    const record = (action: 'member.joined' | 'member.role_changed' | 'member.removed') =>
      accountActions.record({ accountId, personId, action, target: personId, details })
    if (role === null) {
      if (wanted === null) return
      const data = { accountId, personId, role: wanted, byRule: true }
      const { count } = await postgres.organisationMember.createMany({ data, skipDuplicates: true })
      if (count > 0) await record('member.joined')
      return
    }
    if (wanted === null) await members.remove(accountId, personId, null)
    else await members.setRole(accountId, personId, wanted)
    // The role determines the permissions of the member's keys.
    await announce({ accountId })
    await record(wanted === null ? 'member.removed' : 'member.role_changed')
  }

  return async (personId: string, identity: StatedIdentity): Promise<void> => {
    try {
      for (const organisation of await postgres.$queryRawUnsafe<RuledOrganisation[]>(RULED, personId)) {
        const rules = organisation.rules ?? {}
        // Other services state no groups: a sign-in by them may add a member, and takes nothing away.
        if (organisation.role !== null && rules.groups && identity.provider !== 'oidc') continue
        await change(personId, organisation, roleByRules(rules, identity))
      }
    } catch (error) {
      logger.error({ err: error, accountId: personId }, 'memberships of a sign-in not applied')
    }
  }
}

/** Null: none. They apply to later sign-ins. */
export const setSignInRules = async (
  postgres: Postgres,
  id: string,
  rules: SignInRules | null,
): Promise<void> =>
  void (await postgres.$executeRawUnsafe(
    'UPDATE accounts SET sign_in = $2::jsonb WHERE id = $1',
    id,
    rules && JSON.stringify(rules),
  ))
