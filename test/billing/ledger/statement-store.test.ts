import { beforeAll, expect, test } from 'vitest'
import { createStatementReader, type Statement } from '../../../src/billing/ledger/statement-store.ts'
import { createSettlementStore } from '../../../src/billing/settlement/settlement-store.ts'
import { DAY_MS } from '../../../src/core/kernel/time.ts'
import { openTestAccount, settlementOf } from '../../helpers/billing.ts'
import { testLedger } from '../../helpers/resources.ts'

const OPENING = 1_000n

let accountId: string
/** The first days of two months long ago, in which the account had calls only. */
const JANUARY = Date.parse('2026-01-01T00:00:00Z')
const FEBRUARY = Date.parse('2026-02-01T00:00:00Z')
const MARCH = Date.parse('2026-03-01T00:00:00Z')

const ledger = testLedger()
beforeAll(async () => {
  accountId = await openTestAccount(ledger.postgres, OPENING)
  const other = await openTestAccount(ledger.postgres, OPENING)
  const call = (of: string, requestedModel: string, admittedAt: number) =>
    settlementOf(of, { requestedModel, admittedAt })
  await createSettlementStore(ledger.postgres).settle([
    call(accountId, 'b', JANUARY),
    call(accountId, 'a', JANUARY + DAY_MS - 1),
    call(accountId, 'openai/a', JANUARY + DAY_MS),
    call(accountId, 'a:nitro', JANUARY + DAY_MS + 5),
    call(accountId, 'a', FEBRUARY - 1),
    call(accountId, 'a', FEBRUARY),
    call(other, 'a', JANUARY),
  ])
})

const read = (fromMs: number, toMs: number, linesMax = 100) =>
  createStatementReader(ledger.postgres)(accountId, { fromMs, toMs }, linesMax)

const changeOf = ({ charges, movements }: Statement) =>
  [...charges, ...movements].reduce((sum, { amountPico }) => sum + amountPico, 0n)

test('calls of a month are summed by day and model, whatever alias and suffix they named it with', async () => {
  const january = await read(JANUARY, FEBRUARY)
  expect(january?.charges).toEqual([
    { day: JANUARY / DAY_MS, model: 'a', calls: 1, amountPico: -50n },
    { day: JANUARY / DAY_MS, model: 'b', calls: 1, amountPico: -50n },
    { day: JANUARY / DAY_MS + 1, model: 'a', calls: 2, amountPico: -100n },
    { day: FEBRUARY / DAY_MS - 1, model: 'a', calls: 1, amountPico: -50n },
  ])
  expect(january?.movements).toEqual([])
})

test('months follow one another without a gap, up to the balance of the ledger', async () => {
  const now = Date.now() + DAY_MS
  const statements = [
    await read(JANUARY, FEBRUARY),
    await read(FEBRUARY, MARCH),
    await read(MARCH, now),
  ] as Statement[]
  expect(statements[0]!.openingPico).toBe(0n)
  for (const [index, statement] of statements.entries()) {
    expect(statement.openingPico + changeOf(statement)).toBe(statement.closingPico)
    if (index > 0) expect(statement.openingPico).toBe(statements[index - 1]!.closingPico)
  }
  const { balancePico } = await ledger.postgres.account.findUniqueOrThrow({ where: { id: accountId } })
  expect(balancePico).toBe(OPENING - 300n)
  expect(statements.at(-1)!.closingPico).toBe(balancePico)
  expect(statements.at(-1)!.movements).toMatchObject([{ amountPico: OPENING }])
})

test('a month of too many lines is none', async () => {
  expect(await read(JANUARY, FEBRUARY, 4)).not.toBeNull()
  expect(await read(JANUARY, FEBRUARY, 3)).toBeNull()
})
