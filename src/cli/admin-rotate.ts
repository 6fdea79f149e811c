import type { Config } from '../config.ts'
import { masterKeyId } from '../platform/sealing.ts'
import type { CommandClients } from './clients.ts'
import { resealAll } from './reseal.ts'
import type { CommandOutput } from './run-command.ts'
import { lines } from './views.ts'

/**
 * `admin rotate-sealed`: seals every stored secret under MASTER_KEY that still is under one of MASTER_KEY_PREVIOUS,
 * and says how many API keys have not moved yet. Fails when a text opens under none of them.
 */
export async function rotateSealed({ postgres }: CommandClients, config: Config): Promise<CommandOutput> {
  const { resealed, unopened } = await resealAll(postgres, config.masterKeys)
  const current = masterKeyId(config.masterKeys[0])
  // An API key cannot be hashed anew without its secret: it moves by itself when it is used.
  const waiting = await postgres.apiKey.count({
    where: { state: 'active', OR: [{ hashMasterKeyId: null }, { hashMasterKeyId: { not: current } }] },
  })
  const view = {
    provider_keys_resealed: resealed.provider_keys ?? 0,
    webhook_secrets_resealed: resealed.webhook_endpoints ?? 0,
    not_opened: unopened.length,
    api_keys_under_previous: waiting,
  }
  return {
    data: { ...view, unopened },
    text: [lines(view), ...unopened.map((text) => `opens under none of the master keys: ${text}`)].join('\n'),
    failed: unopened.length > 0,
  }
}
