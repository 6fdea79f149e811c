import { afterAll, beforeAll, expect, test } from 'vitest'
import { auditLedger } from '../../src/billing/audit/ledger-audit.ts'
import type { StatementView, TopUpView } from '../../src/core/api/billing.ts'
import type { InvoiceView, TopUpInvoices } from '../../src/core/api/invoices.ts'
import { type ConsoleClient, PASSWORD, signedUp } from '../helpers/console-client.ts'
import { type FakeStripe, startFakeStripe } from '../helpers/fake-stripe.ts'
import { expectLedgerInOrder } from '../helpers/ledger.ts'
import { organisationOf } from '../helpers/organisation.ts'
import { readPdf } from '../helpers/pdf-text.ts'
import { startStack, type TestStack } from '../helpers/stack.ts'

const DETAILS = { name: 'Ann & Co. Łódź', address: 'Street 5\nZürich', country: 'CH', tax_id: 'CHE-1' }

let stack: TestStack
let stripe: FakeStripe
beforeAll(async () => {
  stripe = await startFakeStripe()
  stack = await startStack({
    models: { 'test/plain': [{ at: 'alpha', model: 'words-3' }] },
    environment: {
      ...stripe.environment,
      PAYMENTS_DEVELOPMENT_RAIL: 'true',
      INVOICE_ISSUER_NAME: 'Acme GmbH',
      INVOICE_ISSUER_ADDRESS: 'Allee 1 | 10115 Berlin',
      INVOICE_TAX_PERCENT: '19',
      INVOICE_TAX_NOTE: 'VAT of Germany is included.',
    },
  })
})
afterAll(async () => {
  await stack.close()
  await stripe.close()
})

const openTopUp = (client: ConsoleClient, rail = 'card', amount_usd = '25.00') =>
  client.json<TopUpView>('/console/api/top-ups', { body: { rail, amount_usd } })

async function paid(client: ConsoleClient): Promise<TopUpView> {
  const topUp = await openTopUp(client)
  expect((await stripe.deliver(stack.url, stripe.pay(topUp.checkout_url!))).status).toBe(200)
  return topUp
}

const invoicesOf = (client: ConsoleClient) =>
  client.json<{ data: InvoiceView[] }>('/console/api/invoices').then(({ data }) => data)
const printedOf = (client: ConsoleClient, { payment_id: id }: TopUpView) =>
  client.json<TopUpInvoices>(`/console/api/top-ups/${id}/invoices`).then(({ data }) => data)

async function pdfOf(client: ConsoleClient, { id }: InvoiceView) {
  const response = await client.ask(`/console/api/invoices/${id}/pdf`)
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('application/pdf')
  return readPdf(new Uint8Array(await response.arrayBuffer()))
}

test('a settled top-up has one invoice that later changes do not reach', async () => {
  const client = await signedUp(stack.url)
  await client.json('/console/api/billing-details', { method: 'PATCH', body: DETAILS })
  const topUp = await openTopUp(client)
  expect(await invoicesOf(client)).toEqual([])
  const event = stripe.pay(topUp.checkout_url!)
  await Promise.all(Array.from({ length: 5 }, () => stripe.deliver(stack.url, event)))
  const [invoice, ...others] = await invoicesOf(client)
  expect(others).toEqual([])
  expect(invoice).toMatchObject({
    kind: 'invoice',
    top_up_id: topUp.payment_id,
    total_usd: '25.00',
    test: false,
  })
  const [printed] = await printedOf(client, topUp)
  expect(printed).toMatchObject({
    issuer: { name: 'Acme GmbH', address: ['Allee 1', '10115 Berlin'] },
    customer: { name: DETAILS.name, address: ['Street 5', 'Zürich'], country: 'CH', email: client.email },
    tax: { name: 'VAT', percent: '19', net_usd: '21.01', amount_usd: '3.99' },
  })
  const before = await pdfOf(client, invoice!)
  for (const part of [invoice!.number, 'Acme GmbH', 'Ann & Co. Łódź', 'CHE-1', '3.99', '25.00'])
    expect(before.text).toContain(part)

  await client.json('/console/api/billing-details', {
    method: 'PATCH',
    body: { ...DETAILS, name: 'Later Ltd' },
  })
  expect((await pdfOf(client, invoice!)).text).toBe(before.text)
  for (const change of [`UPDATE invoices SET issuer = 'x'`, 'DELETE FROM invoices', 'TRUNCATE invoices'])
    await expect(stack.postgres.$executeRawUnsafe(change)).rejects.toThrow(/stays as it is/)
})

test('what goes back has a credit note, and a refund that failed an invoice again', async () => {
  const client = await signedUp(stack.url)
  const topUp = await paid(client)
  const url = topUp.checkout_url!
  for (const event of [stripe.refund(url, 1_000, 'succeeded', 're_part'), stripe.refund(url, 500)])
    await stripe.deliver(stack.url, event)
  await stripe.deliver(stack.url, stripe.refund(url, 1_000, 'failed', 're_part'))
  const printed = await printedOf(client, topUp)
  expect(printed.map(({ kind, total_usd }) => `${kind} ${total_usd}`)).toEqual([
    'invoice 25.00',
    'credit_note 10.00',
    'credit_note 5.00',
    'invoice 10.00',
  ])
  const [first, credit] = printed
  expect(credit).toMatchObject({ corrects: first!.number, tax: { net_usd: '8.40', amount_usd: '1.60' } })
  expect((await pdfOf(client, credit!)).text).toContain(`Corrects invoice ${first!.number}`)
})

test('a credit note is made out as its invoice was', async () => {
  const client = await signedUp(stack.url)
  await client.json('/console/api/billing-details', { method: 'PATCH', body: DETAILS })
  const topUp = await paid(client)
  await client.json('/console/api/billing-details', {
    method: 'PATCH',
    body: { ...DETAILS, name: 'Later Ltd' },
  })
  await stripe.deliver(stack.url, stripe.refund(topUp.checkout_url!, 500))
  const [invoice, credit] = await printedOf(client, topUp)
  expect(credit).toMatchObject({ kind: 'credit_note', customer: invoice!.customer, issuer: invoice!.issuer })
})

test('numbers have no gaps and no doubles, however many top-ups settle at once', async () => {
  const client = await signedUp(stack.url)
  const topUps: TopUpView[] = []
  for (let opened = 0; opened < 12; opened++) topUps.push(await openTopUp(client))
  const events = topUps.map(({ checkout_url }) => stripe.pay(checkout_url!))
  await Promise.all(events.map((event) => stripe.deliver(stack.url, event)))
  const rows = await stack.postgres.invoice.findMany({
    where: { prefix: 'INV-' },
    orderBy: { number: 'asc' },
  })
  expect(rows.length).toBeGreaterThanOrEqual(12)
  expect(rows.map(({ number }) => Number(number))).toEqual(rows.map((_, index) => index + 1))
  const series = await stack.postgres.invoiceSeries.findMany({ where: { prefix: 'INV-' } })
  expect(series.map(({ lastNumber }) => Number(lastNumber))).toEqual([rows.length])
})

test('a payment without money is numbered apart, and says that it is a test', async () => {
  const client = await signedUp(stack.url)
  await openTopUp(client, 'development')
  const [invoice] = await invoicesOf(client)
  expect(invoice).toMatchObject({ number: 'TEST-INV-000001', test: true })
  expect((await pdfOf(client, invoice!)).text).toContain('TEST MODE')
})

test("another account's invoice is none, and details are checked", async () => {
  const [one, other] = [await signedUp(stack.url), await signedUp(stack.url)]
  const topUp = await paid(one)
  const [invoice] = await invoicesOf(one)
  expect((await other.ask(`/console/api/invoices/${invoice!.id}/pdf`)).status).toBe(404)
  expect(await printedOf(other, topUp)).toEqual([])
  for (const [param, value] of [
    ['country', 'Germany'],
    ['address', 'x\n'.repeat(7)],
    ['name', 'x'.repeat(121)],
  ] as const) {
    const answer = await one.ask('/console/api/billing-details', {
      method: 'PATCH',
      body: { ...DETAILS, [param]: value },
    })
    expect(answer.status).toBe(400)
    expect(await answer.json()).toMatchObject({ error: { param } })
  }
})

test('details and invoices are exported; a deleted account keeps its invoices only', async () => {
  const client = await signedUp(stack.url)
  await client.json('/console/api/billing-details', { method: 'PATCH', body: DETAILS })
  const topUp = await paid(client)
  const exported = await client.json<{ invoices: object[]; billing_details: object }>(
    '/console/api/account/export',
  )
  expect(exported.billing_details).toMatchObject({ name: DETAILS.name })
  expect(exported.invoices).toMatchObject([{ kind: 'invoice', payment: { id: topUp.payment_id } }])
  const body = { current_password: PASSWORD, forfeit_usd: '25.50' }
  const answer = await client.ask('/console/api/account/delete', { body })
  expect(answer.status, await answer.text()).toBe(204)
  const { accountId } = await stack.postgres.payment.findUniqueOrThrow({ where: { id: topUp.payment_id } })
  expect(await stack.postgres.billingDetails.count({ where: { accountId } })).toBe(0)
  expect(await stack.postgres.invoice.count({ where: { accountId } })).toBe(1)
})

test('an organisation has its name on invoices, and its members for billing see them', async () => {
  const { accountId, members } = await organisationOf(stack, ['owner', 'developer', 'billing'])
  const { billing, developer } = members
  const topUp = await openTopUp(billing, 'development')
  const [printed] = await printedOf(billing, topUp)
  expect(printed?.customer).toMatchObject({ name: expect.stringMatching(/^Works /), email: '' })
  expect((await pdfOf(billing, printed!)).text).toContain('Works ')
  const details = { method: 'PATCH', body: DETAILS }
  for (const [path, options] of [
    ['/console/api/invoices', {}],
    [`/console/api/invoices/${printed!.id}/pdf`, {}],
    ['/console/api/billing-details', details],
    ['/console/api/auto-top-up', {}],
    ['/console/api/saved-card', { body: {} }],
    ['/console/api/saved-card', { method: 'DELETE' }],
  ] as const)
    expect((await developer.ask(path, options)).status, path).toBe(403)
  await billing.json('/console/api/billing-details', details)
  const actions = await stack.postgres.accountAction.findMany({ where: { accountId } })
  expect(actions.map(({ action }) => action)).toContain('billing_details.changed')
})

test('the statement of a month leads to the balance', async () => {
  const client = await signedUp(stack.url)
  const topUp = await paid(client)
  await stripe.deliver(stack.url, stripe.refund(topUp.checkout_url!, 500))
  const month = new Date().toISOString().slice(0, 7)
  const statement = await client.json<StatementView>(`/console/api/statements/${month}`)
  expect(statement).toMatchObject({ month, opening_usd: '0.00', closing_usd: '20.50', charges: [] })
  expect(statement.movements.map(({ kind, amount_usd }) => `${kind} ${amount_usd}`)).toEqual([
    'free_credit 0.50',
    'topup 25.00',
    'refund -5.00',
  ])
  for (const other of ['2027-13', '2027-1', 'now'])
    expect((await client.ask(`/console/api/statements/${other}`)).status).toBe(400)
})

test('the audit finds a gap in the numbers, and a top-up that is invoiced for something else', async () => {
  const { postgres } = stack
  const found = async () => {
    const { checks } = await auditLedger(postgres)
    return checks.filter(({ name }) => name.includes('invoice')).map(({ broken }) => broken)
  }
  const topUp = await paid(await signedUp(stack.url))
  expect(await found()).toEqual([0, 0])
  const where = { prefix: 'INV-' }
  await postgres.invoiceSeries.updateMany({ where, data: { lastNumber: { increment: 1 } } })
  await postgres.payment.update({ where: { id: topUp.payment_id }, data: { returnedPico: 1n } })
  expect(await found()).toEqual([1, 1])
  await postgres.invoiceSeries.updateMany({ where, data: { lastNumber: { decrement: 1 } } })
  await postgres.payment.update({ where: { id: topUp.payment_id }, data: { returnedPico: 0n } })
  expect(await found()).toEqual([0, 0])
})

test('the ledger is in order after all of it', async () => {
  await expectLedgerInOrder(stack)
})
