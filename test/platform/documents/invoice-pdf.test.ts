import { expect, test } from 'vitest'
import type { InvoiceDocument } from '../../../src/core/payments/invoice.ts'
import { invoicePdf } from '../../../src/platform/documents/invoice-pdf.ts'
import { readPdf } from '../../helpers/pdf-text.ts'

const INVOICE: InvoiceDocument = {
  kind: 'invoice',
  number: 'INV-000012',
  issued_at: '2027-01-31T23:59:59.000Z',
  test: false,
  issuer: {
    name: 'Żółw sp. z o.o.',
    address: ['ul. Łąkowa 1', '90-001 Łódź'],
    taxId: 'PL123',
    email: 'pay@zolw.example',
  },
  customer: {
    name: 'Ελλάδα & Привет AG',
    address: ['Straße 5', '8001 Zürich'],
    country: 'CH',
    tax_id: 'CHE-1',
    email: 'ann@example.test',
  },
  payment: { id: 'pay_1', rail: 'stripe', paid_at: '2027-01-31T23:59:58.000Z' },
  corrects: null,
  description: 'Prepaid balance for API usage',
  currency: 'USD',
  tax: { name: 'VAT', percent: '19', net_usd: '1050.42', amount_usd: '199.58' },
  total_usd: '1250.00',
  note: 'Prices include VAT.',
}

test('an invoice has every fact on one page, in the scripts that Inter has', async () => {
  const { text, pages, title } = await readPdf(await invoicePdf(INVOICE))
  expect(pages).toBe(1)
  expect(title).toBe('Invoice INV-000012')
  for (const part of [
    'INV-000012',
    '2027-01-31 23:59 UTC',
    'pay_1',
    'Żółw sp. z o.o.',
    '90-001 Łódź',
    'Tax ID: PL123',
    'Ελλάδα & Привет AG',
    '8001 Zürich',
    'Tax ID: CHE-1',
    'ann@example.test',
    '1,050.42',
    'VAT 19 %, included',
    '199.58',
    '1,250.00',
    'Prices include VAT.',
  ])
    expect(text).toContain(part)
  expect(text).not.toContain('TEST MODE')
})

test('a credit note names what it corrects; a test says so', async () => {
  const { text } = await readPdf(
    await invoicePdf({ ...INVOICE, kind: 'credit_note', corrects: 'INV-000011', test: true, tax: null }),
  )
  for (const part of ['Credit note', 'Corrects invoice', 'INV-000011', 'Total returned', 'TEST MODE'])
    expect(text).toContain(part)
  expect(text).not.toContain('VAT 19')
})

test('what no font has is shown as unknown, and the longest details stay on the page', async () => {
  const longest = 'W'.repeat(400)
  const { text, pages } = await readPdf(
    await invoicePdf({
      ...INVOICE,
      issuer: { ...INVOICE.issuer, address: [longest] },
      customer: {
        ...INVOICE.customer,
        name: `東京 ${'W'.repeat(117)}`,
        address: Array(6).fill('W'.repeat(66)),
      },
      note: 'word '.repeat(100),
    }),
  )
  expect(pages).toBe(1)
  expect(text).toContain('??')
})
