import { accountName } from '../accounts/account-store.ts'
import { ApiError } from '../core/kernel/errors.ts'
import { newId } from '../core/kernel/ids.ts'
import { infrastructureError } from '../platform/infrastructure-error.ts'
import type { Logger } from '../platform/observability/logger.ts'
import { type IdPage, newestFirst, type Postgres } from '../platform/postgres/postgres.ts'
import type { OperatorAction as ActionRow } from '../platform/prisma-client/client.ts'

/** The requester of an action. */
export interface Operator {
  /**
   * An admin key's id, an operator's id after single sign-on, or `cli:` and the operating system user of a command.
   */
  actor: string
  /** The id of the request, or of the command. */
  requestId: string
}

export interface AuditedAction {
  /** `account.suspend`, `key.revoke`, … */
  action: string
  /** The id of its target. */
  target: string
  details: Record<string, string | number | boolean | null | string[]>
}

/** `outcome`: `asked` is recorded before the action, `failed` after a rejected or failed one. */
export type OperatorAction = ActionRow

export interface NamedAction extends OperatorAction {
  /** The operator's name; null for commands. */
  actorName: string | null
  /** First and last characters of the admin key; null without one. */
  actorKey: string | null
  /** The email or name of the account, or the name of the key or operator, that is the target; null: it has none. */
  targetName: string | null
}

const LATEST_MAX = 1_000

/** The log of operators' actions: append-only, and written before each action, so that no action lacks its row. */
export type AuditLog = ReturnType<typeof createAuditLog>
export type RunAudited = AuditLog['auditedAction']

export function createAuditLog(postgres: Postgres, logger: Logger) {
  const record = (
    { actor, requestId }: Operator,
    { action, target, details }: AuditedAction,
    outcome: 'asked' | 'failed',
  ) =>
    postgres.operatorAction.create({
      data: { id: newId('act'), actor, action, target, outcome, details, requestId },
    })

  return {
    /** Records an operator's action and then runs it. Throws 503 if it cannot be recorded, and the error of `work`. */
    async auditedAction<T>(operator: Operator, action: AuditedAction, work: () => Promise<T>): Promise<T> {
      try {
        await record(operator, action, 'asked')
      } catch (cause) {
        logger.warn({ err: cause, action: action.action }, 'operator action rejected: audit log unavailable')
        throw new ApiError(
          'overloaded',
          'The audit log is unavailable; nothing was changed. Retry shortly.',
          { retryAfterSeconds: 1, cause },
        )
      }
      logger.info({ ...action, ...operator }, 'operator action')
      try {
        return await work()
      } catch (error) {
        const failure = error instanceof ApiError ? error : infrastructureError(error)
        const code = failure?.code ?? 'internal_error'
        await record(operator, { ...action, details: { ...action.details, error: code } }, 'failed').catch(
          (cause: unknown) => logger.warn({ err: cause }, 'failure of an operator action not recorded'),
        )
        throw error
      }
    },

    /** The latest requested actions of a kind on some targets, newest first. */
    latest: (action: string, targets: string[]): Promise<OperatorAction[]> =>
      postgres.operatorAction.findMany({
        where: { action, target: { in: targets }, outcome: 'asked' },
        orderBy: { id: 'desc' },
        take: LATEST_MAX,
      }),

    /** Newest first, after an action's id; of some targets, or all. */
    async page({ targets, ...page }: { targets: string[] | null } & IdPage): Promise<NamedAction[]> {
      const rows = await postgres.operatorAction.findMany(
        newestFirst(page, targets === null ? {} : { target: { in: targets } }),
      )
      const [names, targetNames] = await Promise.all([
        namesOf(postgres, [...new Set(rows.map(({ actor }) => actor))]),
        targetNamesOf(postgres, [...new Set(rows.map((row) => row.target))]),
      ])
      return rows.map((row) => ({
        ...row,
        ...(names.get(row.actor) ?? { actorName: null, actorKey: null }),
        targetName: targetNames.get(row.target) ?? null,
      }))
    },
  }
}

/** The operators of the given admin key ids and operator ids. */
async function namesOf(postgres: Postgres, actors: string[]) {
  const isActor = { id: { in: actors } }
  const [operators, keys] = await Promise.all([
    postgres.operator.findMany({ where: isActor }),
    postgres.apiKey.findMany({ where: isActor, include: { operator: true }, omit: { hash: true } }),
  ])
  const names = new Map<string, Pick<NamedAction, 'actorName' | 'actorKey'>>()
  for (const { id, name } of operators) names.set(id, { actorName: name, actorKey: null })
  for (const { id, operator, prefix, suffix } of keys)
    names.set(id, { actorName: operator?.name ?? null, actorKey: `${prefix}…${suffix}` })
  return names
}

/** The names of the accounts, keys and operators among the targets, and whose a payment is. */
async function targetNamesOf(postgres: Postgres, targets: string[]): Promise<Map<string, string>> {
  const isTarget = { id: { in: targets } }
  const named = { id: true, email: true, name: true }
  const [accounts, payments, keys, operators] = await Promise.all([
    postgres.account.findMany({ where: isTarget, select: named }),
    postgres.payment.findMany({ where: isTarget, select: { id: true, account: { select: named } } }),
    postgres.apiKey.findMany({ where: isTarget, select: { id: true, name: true } }),
    postgres.operator.findMany({ where: isTarget, select: { id: true, name: true } }),
  ])
  return new Map([
    ...accounts.map((account) => [account.id, accountName(account)] as const),
    ...payments.map(({ id, account }) => [id, accountName(account)] as const),
    ...[...keys, ...operators].map(({ id, name }) => [id, name] as const),
  ])
}
