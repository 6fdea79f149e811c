import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  includedTax,
  invoiceDocument,
  invoiceNumber,
  issuedTerms,
  newTerms,
} from '../../../src/core/payments/invoice.ts'
import { readInvoiceSettings } from '../../../src/core/payments/invoice-settings.ts'
import { PICO_PER_CENT } from '../../../src/core/payments/top-up-amount.ts'

const ISSUER = { INVOICE_ISSUER_NAME: 'Acme GmbH', INVOICE_ISSUER_ADDRESS: 'Allee 1 | 10115 Berlin|Germany' }
const cents = (amount: number) => BigInt(amount) * PICO_PER_CENT

test.each([
  ['19', 11_900, 1_900],
  ['19', 2_500, 399],
  ['8.1', 10_000, 749],
  ['25', 1, 0],
  ['0', 2_500, 0],
  ['99.999', 100, 50],
])('%s %% of tax in %i cents are %i cents', (percent, total, tax) => {
  expect(includedTax(cents(total), percent)).toBe(cents(tax))
})

test('net and tax are whole cents, and sum to what was paid', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 1_000_000_00 }),
      fc.integer({ min: 0, max: 99_999 }),
      (total, rate) => {
        const tax = includedTax(cents(total), (rate / 1000).toFixed(3))
        expect(tax % PICO_PER_CENT).toBe(0n)
        expect(tax >= 0n && tax < cents(total)).toBe(true)
        // Within half a cent of the exact tax.
        const exact = (total * rate) / (100_000 + rate)
        expect(Math.abs(Number(tax / PICO_PER_CENT) - exact)).toBeLessThanOrEqual(0.5 + 1e-6)
      },
    ),
  )
})

test('settings of invoices are read whole or not at all', () => {
  const problems: string[] = []
  expect(readInvoiceSettings({}, problems)).toBeNull()
  expect(readInvoiceSettings({ ...ISSUER, INVOICE_TAX_PERCENT: '19' }, problems)).toMatchObject({
    issuer: { name: 'Acme GmbH', address: ['Allee 1', '10115 Berlin', 'Germany'] },
    tax: { name: 'VAT', percent: '19', note: '' },
    prefix: 'INV-',
  })
  expect(problems).toEqual([])
  readInvoiceSettings({ INVOICE_ISSUER_NAME: 'Acme' }, problems)
  readInvoiceSettings({ ...ISSUER, INVOICE_TAX_PERCENT: '19%', INVOICE_NUMBER_PREFIX: 'a b' }, problems)
  expect(problems).toHaveLength(3)
})

test('payments without money have numbers of their own', () => {
  const settings = readInvoiceSettings(ISSUER, [])!
  const facts = {
    kind: 'invoice' as const,
    number: 7n,
    issuedAtMs: 0,
    amountPico: cents(2_500),
    corrects: null,
  }
  const customer = { name: '', address: [], country: '', tax_id: '', email: 'ann@example.test' }
  const of = (rail: 'stripe' | 'development') =>
    invoiceDocument(newTerms(settings, rail, customer), {
      ...facts,
      payment: { id: 'pay_1', rail, settledAtMs: 0 },
    })
  expect(of('stripe')).toMatchObject({ number: 'INV-000007', test: false, tax: null, total_usd: '25.00' })
  expect(of('development')).toMatchObject({ number: 'TEST-INV-000007', test: true })
  expect(invoiceNumber('INV-', 12_345_678n)).toBe('INV-12345678')
})

test('a credit note has the terms of the invoice that it corrects', () => {
  const settings = readInvoiceSettings({ ...ISSUER, INVOICE_TAX_PERCENT: '19' }, [])!
  const customer = { name: 'Ann', address: [], country: 'DE', tax_id: '', email: 'ann@example.test' }
  const payment = { id: 'pay_1', rail: 'stripe' as const, settledAtMs: 0 }
  const facts = { number: 1n, issuedAtMs: 0, amountPico: cents(2_500), payment }
  const terms = newTerms(settings, 'stripe', customer)
  const invoice = invoiceDocument(terms, { ...facts, kind: 'invoice', corrects: null })
  expect(issuedTerms('INV-', invoice)).toEqual(terms)
})
