import { ulid } from 'ulid'
import { createHoldStore } from '../../src/billing/holds/hold-store.ts'
import { createSettlementStore } from '../../src/billing/settlement/settlement-store.ts'
import type { SettlementRecord } from '../../src/core/calls/call-job.ts'
import { settlementOf } from '../helpers/billing.ts'
import type { TestStack } from '../helpers/stack.ts'

const DAY_MS = 86_400_000
const DAYS = 30
const QUARTER_HOUR_MS = 900_000

interface DemoModel {
  id: string
  offer: string
  /** Pico-USD a token. */
  rate: { prompt: number; completion: number }
  cost: { prompt: number; completion: number }
}

/** The same calls each time: enough of a month to draw charts of. */
export async function writeDemoHistory(
  { postgres, redis }: Pick<TestStack, 'postgres' | 'redis'>,
  accountId: string,
  keyIds: readonly string[],
  models: readonly DemoModel[],
): Promise<void> {
  const records: SettlementRecord[] = []
  for (let day = DAYS - 1; day >= 0; day--) {
    const calls = 4 + ((day * 7) % 9) + (day % 7 < 2 ? 0 : 6)
    for (let call = 0; call < calls; call++) {
      const admittedAt = Date.now() - day * DAY_MS - call * QUARTER_HOUR_MS
      const model = models[(day + call * call) % models.length]
      const keyId = keyIds[(day * 3 + call) % keyIds.length]
      if (model && keyId)
        records.push(recordOf({ accountId, keyId, model, admittedAt, seed: day * 31 + call }))
    }
  }
  const { accounts, quarantined } = await createSettlementStore(postgres).settle(records)
  if (quarantined.length > 0) throw new Error(`not settled: ${quarantined[0]?.reason}`)
  const holds = createHoldStore(redis)
  for (const { released, ...ledger } of accounts) await holds.apply(accountId, ledger, released)
}

function recordOf(options: {
  accountId: string
  keyId: string
  model: DemoModel
  admittedAt: number
  seed: number
}): SettlementRecord {
  const { accountId, keyId, model, admittedAt, seed } = options
  const usage = { promptTokens: 400 + ((seed * 97) % 5_000), completionTokens: 60 + ((seed * 53) % 900) }
  const charge = String(
    BigInt(usage.promptTokens) * BigInt(model.rate.prompt) +
      BigInt(usage.completionTokens) * BigInt(model.rate.completion),
  )
  const text = ({ prompt, completion }: DemoModel['rate']) => ({
    prompt: String(prompt),
    completion: String(completion),
  })
  const claimedAt = admittedAt + 2 + (seed % 5)
  const firstTokenAt = claimedAt + 180 + ((seed * 37) % 700)
  const finishedAt = firstTokenAt + usage.completionTokens * 9
  return settlementOf(accountId, {
    id: `chatcmpl_${ulid(admittedAt)}`,
    keyId,
    requestId: `nightly-${seed}`,
    requestedModel: model.id,
    served: {
      offerId: model.offer,
      modelId: model.id,
      rate: text(model.rate),
      rateVersion: 'v1',
      cost: text(model.cost),
    },
    usage,
    chargePico: charge,
    holdPico: charge,
    attempts: [
      {
        offerId: model.offer,
        outcome: 'ok',
        httpStatus: 200,
        startedAt: claimedAt,
        firstTokenMs: firstTokenAt - claimedAt,
        durationMs: finishedAt - claimedAt,
      },
    ],
    admittedAt,
    claimedAt,
    firstTokenAt,
    finishedAt,
  })
}
