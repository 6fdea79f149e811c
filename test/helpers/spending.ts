import { createHoldStore } from '../../src/billing/holds/hold-store.ts'
import { createSettlementStore } from '../../src/billing/settlement/settlement-store.ts'
import { settlementOf } from './billing.ts'
import type { TestStack } from './stack.ts'

/** Settles a call that cost so much, in the ledger and in the balance cache, as if it had run. */
export async function settleSpending(
  { postgres, redis }: Pick<TestStack, 'postgres' | 'redis'>,
  accountId: string,
  amountPico: bigint,
): Promise<void> {
  const millions = Number(amountPico / 1_000_000n)
  const record = settlementOf(accountId, {
    usage: { promptTokens: millions, completionTokens: 0 },
    served: {
      offerId: 'alpha/plain',
      modelId: 'test/large',
      rate: { prompt: '1000000', completion: '0' },
      rateVersion: 'v1',
      cost: { prompt: '1', completion: '1' },
    },
    chargePico: String(amountPico),
    holdPico: String(amountPico),
  })
  const { accounts, quarantined } = await createSettlementStore(postgres).settle([record])
  if (quarantined.length > 0) throw new Error(`not settled: ${quarantined[0]?.reason}`)
  const holds = createHoldStore(redis)
  for (const { released, ...ledger } of accounts) await holds.apply(accountId, ledger, released)
}
