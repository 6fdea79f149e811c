import { KEY_SCOPES, type KeyScope, permitsScope } from '../../core/accounts/key-scope.ts'
import type { MemberRole } from '../../core/accounts/member-permissions.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import type { PicoUsd } from '../../core/kernel/money.ts'
import type { Postgres, PostgresTransaction } from '../../platform/postgres/postgres.ts'
import { type Account, accountName } from '../account-store.ts'
import { endFormerInvitations } from './invitation-store.ts'

/** An organisation of a member. */
export interface Membership {
  account: Account
  role: MemberRole
}

export interface Member {
  personId: string
  email: string
  role: MemberRole
  /** Pico-USD; null: no separate limit. */
  monthlyBudgetPico: bigint | null
  /** Number of unrevoked keys that they created. */
  keys: number
  joinedAt: Date
}

/**
 * The fate of a leaving member's keys: another member takes them over and gives them new secrets, or null: they are
 * revoked.
 */
export type KeysGoTo = string | null

/** The members of organisations. Suspended organisations, including deleted ones, are excluded. */
export type MemberStore = ReturnType<typeof createMemberStore>

const LIVE = { account: { state: { not: 'suspended' as const } } }

/** Serializes changes, so that each sees the remaining owners. */
const LOCK = 'SELECT id FROM accounts WHERE id = $1 FOR UPDATE'

const LIST = `
SELECT member.person_id AS "personId", person.email, member.role::text AS role,
       member.monthly_budget_pico AS "monthlyBudgetPico", member.created_at AS "joinedAt",
       (SELECT count(*)::int FROM api_keys AS key WHERE key.account_id = member.account_id
          AND key.created_by = member.person_id AND key.state = 'active') AS keys
FROM organisation_members AS member JOIN accounts AS person ON person.id = member.person_id
WHERE member.account_id = $1 ORDER BY member.created_at, member.person_id`

/** Removes scopes from keys that the new role of their creator does not permit. */
const LIMIT_SCOPES = `
UPDATE api_keys SET scopes = ARRAY(SELECT unnest(scopes) INTERSECT SELECT unnest($3::text[]))
WHERE account_id = $1 AND created_by = $2 AND NOT scopes <@ $3::text[]`

const scopesOf = (role: MemberRole): KeyScope[] => KEY_SCOPES.filter((scope) => permitsScope(role, scope))

/**
 * Invalidates the secrets that the former holder knows: no secret has such a hash. Empty hints show that new ones are
 * needed.
 */
const END_SECRETS = `
UPDATE api_keys SET prefix = '', suffix = '', hash = sha256(convert_to(id || gen_random_uuid(), 'UTF8')),
  previous_hash = NULL, previous_until = NULL
WHERE account_id = $1 AND created_by = $2 AND state = 'active'`

const OWNED_ALONE = `
SELECT account.name FROM organisation_members AS member JOIN accounts AS account ON account.id = member.account_id
WHERE member.person_id = $1 AND member.role = 'owner' AND account.deleted_at IS NULL AND NOT EXISTS (
  SELECT FROM organisation_members AS other
  WHERE other.account_id = member.account_id AND other.role = 'owner' AND other.person_id <> member.person_id
) ORDER BY account.name`

export function createMemberStore(postgres: Postgres) {
  return {
    /** The organisation if the person may act on it; otherwise null. */
    find: (organisationId: string, personId: string): Promise<Membership | null> =>
      postgres.organisationMember.findFirst({
        where: { accountId: organisationId, personId, ...LIVE },
        select: { role: true, account: true },
      }),

    /** The organisations of a person, by name. */
    organisationsOf: (personId: string): Promise<Membership[]> =>
      postgres.organisationMember.findMany({
        where: { personId, ...LIVE },
        select: { role: true, account: true },
        orderBy: [{ account: { name: 'asc' } }, { accountId: 'asc' }],
      }),

    /** In order of joining. */
    list: (organisationId: string): Promise<Member[]> =>
      postgres.$queryRawUnsafe<Member[]>(LIST, organisationId),

    /** Returns the former role. Throws ApiError if the person is not a member, and for the last owner. */
    setRole: (organisationId: string, personId: string, role: MemberRole): Promise<MemberRole> =>
      postgres.$transaction(async (transaction) => {
        const former = await lockedRole(transaction, organisationId, personId)
        if (role !== 'owner') await refuseLastOwner(transaction, organisationId, personId)
        const where = { accountId_personId: { accountId: organisationId, personId } }
        await transaction.organisationMember.update({ where, data: { role } })
        await endFormerInvitations(transaction, organisationId, personId)
        await transaction.$executeRawUnsafe(LIMIT_SCOPES, organisationId, personId, scopesOf(role))
        return former
      }),

    /** Sets the monthly spending limit of a member's keys; null: no budget. Throws ApiError if the person is not a member. */
    async setBudget(accountId: string, personId: string, monthlyBudgetPico: PicoUsd | null): Promise<void> {
      const where = { accountId, personId }
      const { count } = await postgres.organisationMember.updateMany({ where, data: { monthlyBudgetPico } })
      if (count === 0) throw noSuchMember()
    },

    /**
     * Ends a membership: the person's sessions can no longer act on the organisation. Throws ApiError if the person is
     * not a member, for the last owner, and if the member to take over the keys does not exist.
     */
    remove: (organisationId: string, personId: string, keysGoTo: KeysGoTo): Promise<void> =>
      postgres.$transaction(async (transaction) => {
        await lockedRole(transaction, organisationId, personId)
        await refuseLastOwner(transaction, organisationId, personId)
        const ofMember = { accountId: organisationId, personId }
        await transaction.organisationMember.delete({ where: { accountId_personId: ofMember } })
        await endFormerInvitations(transaction, organisationId, personId)
        await passOnKeys(transaction, ofMember, keysGoTo)
        await transaction.consoleSession.updateMany({
          where: { accountId: personId, actingAccountId: organisationId },
          data: { actingAccountId: null },
        })
      }),

    /** Names of the organisations that have no other owner. */
    async ownedAlone(personId: string): Promise<string[]> {
      const rows = await postgres.$queryRawUnsafe<Array<{ name: string }>>(OWNED_ALONE, personId)
      return rows.map(({ name }) => name)
    },

    /** Display names of accounts by id. */
    async names(ids: readonly string[]): Promise<Map<string, string>> {
      const rows = await postgres.account.findMany({
        where: { id: { in: [...ids] } },
        select: { id: true, email: true, name: true, deletedAt: true },
      })
      return new Map(
        rows.map((row) => [row.id, row.deletedAt === null ? accountName(row) : 'a deleted account']),
      )
    },
  }
}

async function lockedRole(
  transaction: PostgresTransaction,
  accountId: string,
  personId: string,
): Promise<MemberRole> {
  await transaction.$queryRawUnsafe(LOCK, accountId)
  const member = await transaction.organisationMember.findUnique({
    where: { accountId_personId: { accountId, personId } },
  })
  if (!member) throw noSuchMember()
  return member.role
}

async function refuseLastOwner(
  transaction: PostgresTransaction,
  accountId: string,
  personId: string,
): Promise<void> {
  const owners = await transaction.organisationMember.findMany({ where: { accountId, role: 'owner' } })
  if (owners.length === 1 && owners[0]?.personId === personId)
    throw new ApiError('conflict', 'An organisation needs an owner. Make another member an owner first.')
}

async function passOnKeys(
  transaction: PostgresTransaction,
  { accountId, personId }: { accountId: string; personId: string },
  keysGoTo: KeysGoTo,
): Promise<void> {
  const where = { accountId, createdBy: personId }
  if (keysGoTo === null) {
    const data = { state: 'revoked' as const, revokedAt: new Date() }
    await transaction.apiKey.updateMany({ where: { ...where, state: 'active' }, data })
    return
  }
  const next = { accountId_personId: { accountId, personId: keysGoTo } }
  if (!(await transaction.organisationMember.findUnique({ where: next }))) throw noSuchMember('keys_go_to')
  await transaction.$executeRawUnsafe(END_SECRETS, accountId, personId)
  await transaction.apiKey.updateMany({ where, data: { createdBy: keysGoTo, scopes: [] } })
}

const noSuchMember = (param?: string): ApiError =>
  new ApiError('not_found', 'This organisation has no member with this id.', { param })
