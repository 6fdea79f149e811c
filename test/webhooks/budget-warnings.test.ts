import { beforeEach, describe, expect, test } from 'vitest'
import { createSettlementStore } from '../../src/billing/settlement/settlement-store.ts'
import { newCallId, newId } from '../../src/core/kernel/ids.ts'
import { warnOfBudgets } from '../../src/webhooks/budget-warnings.ts'
import { openTestAccount, settlementOf } from '../helpers/billing.ts'
import { testLedger } from '../helpers/resources.ts'

const MAY_FIFTH = Date.parse('2026-05-05T23:50:00Z')
const TEN_MINUTES_MS = 600_000
/** Each call costs 50 pico-USD: one is more than half of this, two are more than four fifths. */
const LIMIT_PICO = 90n

describe('the warning of a budget', () => {
  const ledger = testLedger()
  let accountId: string
  let memberId: string
  let keyId: string
  beforeEach(async () => {
    accountId = await openTestAccount(ledger.postgres, 1_000_000n)
    memberId = await openTestAccount(ledger.postgres, 1n)
    keyId = newId('key')
    const ofAccount = { data: { monthlyLimitPico: LIMIT_PICO }, where: { id: accountId } }
    await ledger.postgres.account.update(ofAccount)
    await ledger.postgres.organisationMember.create({
      data: { accountId, personId: memberId, role: 'developer', monthlyBudgetPico: LIMIT_PICO },
    })
    await ledger.postgres.apiKey.create({
      data: {
        ...{
          id: keyId,
          accountId,
          kind: 'standard',
          hash: Buffer.from(keyId),
          prefix: '',
          suffix: '',
          name: 'ci',
        },
        ...{ limitPico: LIMIT_PICO, limitReset: 'daily', createdBy: memberId },
      },
    })
    await ledger.postgres.groupBudget.createMany({
      data: [
        { accountId, scope: 'tag', value: '', tag: 'team', limitPico: LIMIT_PICO },
        { accountId, scope: 'tag', value: 'team=search' },
        { accountId, scope: 'tag', value: 'team=rich', limitPico: 1_000_000n },
      ],
    })
  })

  const spend = (admittedAt: number, team = 'search') =>
    createSettlementStore(ledger.postgres).settle([
      settlementOf(accountId, {
        ...{ id: newCallId(admittedAt), keyId, admittedAt, labels: { groups: [`tag:team=${team}`] } },
      }),
    ])
  const warn = (now: number) => warnOfBudgets({ postgres: ledger.postgres, clock: () => now })
  const warnings = async () => {
    const events = await ledger.postgres.event.findMany({ where: { accountId, type: 'budget.warning' } })
    const shares = events.map(({ data }) => Object(data)).map(({ scope, percent }) => `${scope} ${percent}`)
    return { events, shares: shares.sort() }
  }

  test('is one event of each budget, period and share, however many processes look', async () => {
    await spend(MAY_FIFTH)
    await Promise.all([1, 2, 3].map(() => warn(MAY_FIFTH)))
    const half = ['account 50', 'key 50', 'member 50', 'tag 50']
    expect((await warnings()).shares).toEqual(half)
    await spend(MAY_FIFTH, 'rich')
    await warn(MAY_FIFTH)
    expect((await warnings()).shares).toEqual([
      'account 50',
      'account 80',
      'key 50',
      'key 80',
      'member 50',
      'member 80',
      'tag 50',
    ])
    expect(await warn(MAY_FIFTH)).toEqual({ warnings: 0 })
    const ofKey = (await warnings()).events.find(
      ({ data }) => Object(data).percent === 50 && Object(data).scope === 'key',
    )
    expect(ofKey?.data).toEqual({
      ...{ scope: 'key', id: keyId, name: 'ci', percent: 50, spent_usd: '0.00000000005' },
      ...{ limit_usd: '0.00000000009', limit_reset: 'daily', resets_at: '2026-05-06T00:00:00.000Z' },
    })
  })

  test('is of the running period, and not of what was spent before it', async () => {
    await spend(MAY_FIFTH)
    await warn(MAY_FIFTH + 2 * TEN_MINUTES_MS)
    expect((await warnings()).shares).toEqual(['account 50', 'member 50', 'tag 50'])
  })

  test('is not of budgets without calls in the last half hour, nor of less than a half', async () => {
    await ledger.postgres.account.update({ data: { monthlyLimitPico: 101n }, where: { id: accountId } })
    await spend(MAY_FIFTH)
    await warn(MAY_FIFTH)
    expect((await warnings()).shares).not.toContain('account 50')
    await ledger.postgres.account.update({ data: { monthlyLimitPico: 99n }, where: { id: accountId } })
    await warn(MAY_FIFTH + 6 * TEN_MINUTES_MS)
    expect((await warnings()).shares).not.toContain('account 50')
  })
})
