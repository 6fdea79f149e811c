import type { OperatorRole } from '../../core/accounts/operator-permissions.ts'
import { isDuplicate, type Postgres, type PostgresTransaction } from '../../platform/postgres/postgres.ts'
import type { Operator as OperatorRow } from '../../platform/prisma-client/client.ts'

/** A person who operates the gateway. */
export type StoredOperator = OperatorRow

/** `last_admin`: without an active admin, operators could not be changed in the console. */
export type OperatorChange =
  | { kind: 'changed'; operator: StoredOperator }
  | { kind: 'unknown' | 'last_admin' | 'email_taken' }

/** An operator's identity as stated by the single sign-on provider; the email is verified. */
export interface OperatorIdentity {
  issuer: string
  subject: string
  email: string
}

export type FoundOperator =
  | { kind: 'active'; operator: StoredOperator }
  | { kind: 'unknown_operator' | 'operator_disabled' }

export type OperatorStore = ReturnType<typeof createOperatorStore>

/** Serializes changes of admins, so that two cannot remove the last two. */
const LOCK_ADMINS = `SELECT id FROM operators WHERE role = 'admin' AND state = 'active' FOR UPDATE`

const END_SESSIONS = `
DELETE FROM console_sessions
WHERE operator_id = $1 OR key_id IN (SELECT id FROM api_keys WHERE operator_id = $1)`

export function createOperatorStore(postgres: Postgres) {
  const change = async (
    operatorId: string,
    data: Partial<Pick<StoredOperator, 'role' | 'state'>>,
  ): Promise<OperatorChange> =>
    postgres.$transaction(async (transaction): Promise<OperatorChange> => {
      const admins = await transaction.$queryRawUnsafe<Array<{ id: string }>>(LOCK_ADMINS)
      const operator = await find(transaction, operatorId)
      if (!operator) return { kind: 'unknown' }
      const { role, state } = { ...operator, ...data }
      const isAdmin = role === 'admin' && state === 'active'
      if (!isAdmin && admins.length === 1 && admins[0]!.id === operatorId) return { kind: 'last_admin' }
      if (state === 'disabled') await transaction.$executeRawUnsafe(END_SESSIONS, operatorId)
      return {
        kind: 'changed',
        operator: await transaction.operator.update({ where: { id: operatorId }, data }),
      }
    })

  return {
    /** Null if an active operator has this email. */
    async create(operator: {
      id: string
      name: string
      email: string | null
      role: OperatorRole
    }): Promise<StoredOperator | null> {
      try {
        return await postgres.operator.create({ data: operator })
      } catch (error) {
        if (isDuplicate(error)) return null
        throw error
      }
    },

    find: (operatorId: string): Promise<StoredOperator | null> => find(postgres, operatorId),

    /** By id, email or name; active operators before disabled ones, then the oldest. */
    async findNamed(name: string): Promise<StoredOperator | null> {
      const same = { equals: name, mode: 'insensitive' } as const
      return postgres.operator.findFirst({
        where: { OR: [{ id: name }, { email: same }, { name: same }] },
        orderBy: [{ state: 'asc' }, { id: 'asc' }],
      })
    },

    /**
     * The operator of an identity: bound to it at an earlier sign-in, or with its email and not bound to another
     * identity of the issuer, in which case this binds it.
     */
    async findByIdentity({ issuer, subject, email }: OperatorIdentity): Promise<FoundOperator> {
      const identity = { oidcIssuer: issuer, oidcSubject: subject }
      const bound = await postgres.operator.findFirst({ where: { ...identity, state: 'active' } })
      if (bound) return { kind: 'active', operator: bound }
      const ofEmail = { email: { equals: email, mode: 'insensitive' } } as const
      const isFree = { OR: [{ oidcIssuer: null }, { oidcIssuer: { not: issuer } }] }
      const [operator] = await postgres.operator.updateManyAndReturn({
        where: { ...ofEmail, state: 'active', ...isFree },
        data: identity,
      })
      if (operator) return { kind: 'active', operator }
      const isDisabled = await postgres.operator.findFirst({
        where: { OR: [identity, ofEmail], state: 'disabled' },
      })
      return { kind: isDisabled ? 'operator_disabled' : 'unknown_operator' }
    },

    /** Oldest first. */
    list: (): Promise<StoredOperator[]> => postgres.operator.findMany({ orderBy: { id: 'asc' } }),

    setRole: (operatorId: string, role: OperatorRole): Promise<OperatorChange> =>
      change(operatorId, { role }),

    /** Ends the operator's sessions with it. */
    disable: (operatorId: string): Promise<OperatorChange> => change(operatorId, { state: 'disabled' }),

    /** `email_taken`: an operator who was added since has the email. */
    async enable(operatorId: string): Promise<OperatorChange> {
      try {
        return await change(operatorId, { state: 'active' })
      } catch (error) {
        if (isDuplicate(error)) return { kind: 'email_taken' }
        throw error
      }
    },
  }
}

const find = (postgres: PostgresTransaction, operatorId: string): Promise<StoredOperator | null> =>
  postgres.operator.findUnique({ where: { id: operatorId } })
