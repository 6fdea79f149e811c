import type { Account } from '../../accounts/account-store.ts'
import { GUARD_POINTS } from '../../core/guardrails/guardrail.ts'
import type { StoredGuardrail } from '../../guardrails/guardrail-store.ts'
import { UsageError } from '../run-command.ts'
import { type Change, describe, differing, isEmpty, type PlanServices, referenced } from './difference.ts'
import type { AccountEntry, GuardrailEntry } from './gateway-document.ts'

const guardrailEntry = (stored: StoredGuardrail) => {
  const { kind, url, points, mayReplace, timeoutMs, onFailure, settings } = stored
  return {
    ...{ kind, url, points: [...points], may_replace: mayReplace, timeout_ms: timeoutMs },
    ...{ on_failure: onFailure, settings },
  }
}

/** The guardrails of an account, without their secrets. */
export async function guardrailEntries(
  { guardrails, keys }: PlanServices,
  accountId: string,
): Promise<GuardrailEntry[]> {
  const active = (await keys.list(accountId)).filter(({ state }) => state === 'active')
  const names = new Map<string | null, string | null>(active.map(({ id, name }) => [id, name])).set(
    null,
    null,
  )
  return (await guardrails.list(accountId)).flatMap((stored) => {
    const key = names.get(stored.keyId)
    return key === undefined ? [] : [{ key, ...guardrailEntry(stored) }]
  })
}

const NEW = {
  ...{ kind: 'http' as const, points: [...GUARD_POINTS], may_replace: false, timeout_ms: 2_000 },
  ...{ on_failure: 'deny' as const, settings: {} },
}

/** What an entry would change of the guardrails of an account; those of keys come after these are made. */
export async function guardrailChanges(
  services: PlanServices,
  { account, guardrails: wanted = [] }: AccountEntry,
  found: Account | null,
  { idOf, environment }: { idOf: () => string; environment: NodeJS.ProcessEnv },
): Promise<Change[]> {
  const { guardrails, keys, auditLog, operator } = services
  const activeKeys = async (id: string) => (await keys.list(id)).filter(({ state }) => state === 'active')
  const known = found ? await activeKeys(found.id) : []
  const present = found ? await guardrails.list(found.id) : []
  return wanted.flatMap(({ key = null, secret, ...entry }): Change[] => {
    const keyId = key === null ? null : known.find(({ name }) => name === key)?.id
    const stored = present.find((other) => other.keyId === keyId)
    const before = stored && guardrailEntry(stored)
    const after = { ...(before ?? NEW), ...entry }
    const edit = differing(after, before ?? {})
    if (before && isEmpty(edit)) return []
    const given = secret === undefined ? undefined : referenced(secret, environment)
    const { kind, url, points, may_replace, timeout_ms, on_failure, settings } = after
    const set = async () => {
      const named = key === null ? null : (await activeKeys(idOf())).find(({ name }) => name === key)
      if (named === undefined) throw new UsageError(`${account} has no key called ${key}`)
      return guardrails.set(idOf(), {
        ...{ keyId: named?.id ?? null, kind, url, points, settings, secret: given },
        ...{ mayReplace: may_replace, timeoutMs: timeout_ms, onFailure: on_failure },
      })
    }
    const make = async () => {
      const details = { key, kind, url, points: points.join(', '), may_replace, timeout_ms, on_failure }
      const action = { action: 'account.guardrail', target: idOf(), details }
      return (await auditLog.auditedAction(operator, action, set)) ?? undefined
    }
    const name = key === null ? 'guardrail' : `guardrail of ${key}`
    return [{ text: `${account}: ${name}: ${before ? describe(edit, before) : 'new'}`, make }]
  })
}
