import { beforeAll, describe, expect, test } from 'vitest'
import { type AccountStore, createAccountStore } from '../../src/accounts/account-store.ts'
import { postLedger } from '../../src/billing/ledger/ledger-store.ts'
import { picoUsd } from '../../src/core/kernel/money.ts'
import { isDuplicate } from '../../src/platform/postgres/postgres.ts'
import { testLedger } from '../helpers/resources.ts'

describe('the account store', () => {
  let accounts: AccountStore
  const ledger = testLedger()
  beforeAll(() => {
    accounts = createAccountStore(ledger.postgres, postLedger)
  })

  const free = { kind: 'free_credit' as const, amountPico: picoUsd(500n) }
  const paid = { kind: 'credit' as const, amountPico: picoUsd(900n) }

  test('a new account has its free credit, as a ledger transaction', async () => {
    const account = await accounts.create('free@example.test', free)
    expect(account).toMatchObject({ state: 'free_credit', balancePico: 500n, version: 1n })
    const entries = await ledger.postgres.ledgerEntry.findMany({ where: { transactionId: account.id } })
    expect(entries.map((entry) => [entry.ledgerAccount, entry.amountPico]).sort()).toEqual([
      [`customer:${account.id}`, 500n],
      ['promotional_credit', -500n],
    ])
  })

  test('an account opened with an amount has that amount instead', async () => {
    expect(await accounts.create('paid@example.test', paid)).toMatchObject({
      state: 'active',
      balancePico: 900n,
    })
  })

  test('an account opened with nothing is exhausted', async () => {
    const nothing = { ...paid, amountPico: picoUsd(0n) }
    expect(await accounts.create('nothing@example.test', nothing)).toMatchObject({
      state: 'exhausted',
      version: 0n,
    })
  })

  test('an email has one account', async () => {
    await accounts.create('once@example.test', free)
    const second = await accounts.create('once@example.test', free).catch((error: unknown) => error)
    expect(isDuplicate(second)).toBe(true)
  })

  test('is found by id and by email', async () => {
    const { id } = await accounts.create('found@example.test', free)
    expect(await accounts.find(id)).toMatchObject({ id })
    expect(await accounts.find('found@example.test')).toMatchObject({ id })
    expect(await accounts.find('nobody@example.test')).toBeNull()
  })

  test('a credit adds to the balance and ends the trial', async () => {
    const { id } = await accounts.create('credited@example.test', free)
    expect(await accounts.credit(id, 'evt_1', picoUsd(100n))).toMatchObject({
      state: 'active',
      balancePico: 600n,
      version: 2n,
    })
  })

  test('a payment event that is delivered twice credits once', async () => {
    const { id } = await accounts.create('event@example.test', paid)
    await accounts.credit(id, 'evt_2', picoUsd(100n))
    expect(await accounts.credit(id, 'evt_2', picoUsd(100n))).toMatchObject({
      balancePico: 1_000n,
      version: 2n,
    })
  })

  test('rejects one event id for two different credits', async () => {
    const { id } = await accounts.create('mixed@example.test', paid)
    const { id: other } = await accounts.create('mixed-other@example.test', paid)
    await accounts.credit(id, 'evt_3', picoUsd(100n))
    await expect(accounts.credit(id, 'evt_3', picoUsd(101n))).rejects.toThrow('another credit')
    await expect(accounts.credit(other, 'evt_3', picoUsd(100n))).rejects.toThrow('another credit')
  })

  test.each([
    ['trial', free, 'free_credit'],
    ['paid', paid, 'active'],
    ['empty', { ...paid, amountPico: picoUsd(0n) }, 'exhausted'],
  ])('resuming a suspended %s account restores its state', async (name, credit, state) => {
    const { id } = await accounts.create(`${name}-suspended@example.test`, credit)
    expect(await accounts.suspend(id)).toMatchObject({ state: 'suspended' })
    expect(await accounts.resume(id)).toMatchObject({ state })
  })

  test('a credit revives an exhausted account, and its replay does not', async () => {
    const { id } = await accounts.create('revived@example.test', { ...paid, amountPico: picoUsd(0n) })
    expect(await accounts.credit(id, 'evt_5', picoUsd(100n))).toMatchObject({ state: 'active' })
    await ledger.postgres.account.update({ where: { id }, data: { state: 'exhausted' } })
    expect(await accounts.credit(id, 'evt_5', picoUsd(100n))).toMatchObject({ state: 'exhausted' })
  })

  test('an account that was ever credited does not go back to its trial', async () => {
    const { id } = await accounts.create('grown@example.test', free)
    await accounts.credit(id, 'evt_6', picoUsd(1n))
    await accounts.suspend(id)
    expect(await accounts.resume(id)).toMatchObject({ state: 'active' })
  })

  test('a credit does not end a suspension', async () => {
    const { id } = await accounts.create('kept@example.test', free)
    await accounts.suspend(id)
    expect(await accounts.credit(id, 'evt_4', picoUsd(1n))).toMatchObject({
      state: 'suspended',
      balancePico: 501n,
    })
  })
})
