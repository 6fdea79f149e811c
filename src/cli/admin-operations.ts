import { formatUsd } from '../core/kernel/money.ts'
import { isoTime } from '../core/kernel/time.ts'
import { resealAll } from '../operators/reseal-secrets.ts'
import { masterKeyId } from '../platform/sealing.ts'
import type { AdminCommands } from './admin-command.ts'
import { type CommandOutput, lines, list, one } from './run-command.ts'

const CALL = 'name the call: its id, as in'

const enabled = (id: string, closed: string[]): CommandOutput => ({
  data: { id, closed },
  text: closed.length > 0 ? `Enabled: ${closed.join(', ')}` : `${id} has no disabled offer.`,
})

/** Closes breakers, so that a refused offer is tried again at once. */
export const offerCommands: AdminCommands = {
  async 'provider enable'({ offerManagement, operator, input }) {
    const id = input.subject('name the provider: its id, as in the catalog')
    return enabled(id, await offerManagement.enableProvider(operator, id))
  },

  async 'offer enable'({ offerManagement, operator, input }) {
    const id = input.subject('name the offer: provider/model, as in catalog show')
    return enabled(id, await offerManagement.enableOffer(operator, id))
  },
}

/** Settlements that the database rejected and calls with contradicting records, which wait for a decision. */
export const settlementCommands: AdminCommands = {
  async 'quarantine list'({ quarantine }) {
    const views = (await quarantine.open()).map(({ id, reason, createdAt, record }) => ({
      call_id: id,
      reason,
      created_at: isoTime(createdAt),
      record,
    }))
    return list('quarantined', views, 'No settlement is in quarantine.')
  },

  async 'quarantine retry'({ settlementDecisions, operator, input }) {
    const callId = input.subject(`${CALL} quarantine list`)
    await settlementDecisions.retry(operator, callId)
    return one({ call_id: callId, settled: true })
  },

  async 'quarantine waive'({ settlementDecisions, operator, input }) {
    const callId = input.subject(`${CALL} quarantine list`)
    return one({ call_id: callId, [await settlementDecisions.waive(operator, callId)]: true })
  },

  async 'conflict list'({ conflicts }) {
    const views = (await conflicts.open()).map(({ callId, accountId, status, chargePico, aside }) => ({
      call_id: callId,
      account_id: accountId,
      status,
      charge_usd: formatUsd(chargePico),
      set_aside: aside.map((record) => ({
        outcome: record.outcome,
        served_by_a_worker: !record.unserved,
        status: record.status,
        error_code: record.errorCode,
        completion_tokens: record.completionTokens,
        charge_usd: formatUsd(record.chargePico),
        settled_at: isoTime(record.createdAt),
      })),
    }))
    const text = views
      .map(({ set_aside, ...call }) => [call, ...set_aside].map(lines).join('\n'))
      .join('\n\n')
    return { data: { conflicts: views }, text: text || 'No call has records that contradict each other.' }
  },

  async 'conflict close'({ settlementDecisions, operator, input }) {
    const callId = input.subject(`${CALL} the audit`)
    const reason = input.required('reason', 'must state the decision')
    const isNew = await settlementDecisions.closeConflict(operator, callId, reason)
    const view = { call_id: callId, closed: isNew }
    return { data: view, text: isNew ? lines(view) : `${callId} was closed before.` }
  },
}

export const secretCommands: AdminCommands = {
  /** Seals every stored secret under MASTER_KEY. Fails if a secret opens under none of the configured master keys. */
  async 'rotate-sealed'({ postgres, config: { masterKeys }, auditLog, operator }) {
    const current = masterKeyId(masterKeys[0])
    const action = { action: 'secrets.rotate', target: current, details: {} }
    const { resealed, unopened } = await auditLog.auditedAction(operator, action, () =>
      resealAll(postgres, masterKeys),
    )
    // An API key cannot be hashed again without its secret; it is rehashed on its next use.
    const waiting = await postgres.apiKey.count({
      where: { state: 'active', OR: [{ hashMasterKeyId: null }, { hashMasterKeyId: { not: current } }] },
    })
    const view = {
      provider_keys_resealed: resealed.provider_keys ?? 0,
      webhook_secrets_resealed: resealed.webhook_endpoints ?? 0,
      authenticator_secrets_resealed: resealed.account_totp ?? 0,
      platform_keys_resealed: resealed.platform_keys ?? 0,
      presets_resealed: resealed.preset_versions ?? 0,
      not_opened: unopened.length,
      api_keys_under_previous: waiting,
    }
    return {
      data: { ...view, unopened },
      text: [lines(view), ...unopened.map((text) => `opens under none of the master keys: ${text}`)].join(
        '\n',
      ),
      failed: unopened.length > 0,
    }
  },
}
