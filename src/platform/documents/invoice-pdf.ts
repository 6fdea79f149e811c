import type { InvoiceDocument } from '../../core/payments/invoice.ts'
import { createPdfText, type PdfText, type TextStyle } from './pdf-text.ts'

/** All positions are in points. */
const LEFT = 56
const RIGHT = 539
const LABEL_WIDTH = 110
const COLUMN_WIDTH = 220
const SECOND_COLUMN = RIGHT - COLUMN_WIDTH
const LINE = 1.45
const BODY: TextStyle = { size: 10 }
const STRONG: TextStyle = { size: 10, weight: 700 }
const MUTED: TextStyle = { size: 9, color: '#555555' }

const TITLES: Record<InvoiceDocument['kind'], string> = { invoice: 'Invoice', credit_note: 'Credit note' }
const METHODS: Record<InvoiceDocument['payment']['rail'], string> = {
  stripe: 'Card',
  paypal: 'PayPal',
  development: 'Test payment',
}

/** Renders an invoice as one A4 page. A pure function of the stored invoice. */
export async function invoicePdf(invoice: InvoiceDocument): Promise<Uint8Array> {
  const title = `${TITLES[invoice.kind]} ${invoice.number}`
  const text = createPdfText({ title, author: invoice.issuer.name, createdAt: new Date(invoice.issued_at) })
  let y = 56
  text.line(TITLES[invoice.kind], LEFT, y, { size: 22, weight: 700 })
  if (invoice.test) text.line('TEST MODE: no money was paid', RIGHT, y + 8, { ...STRONG, right: true })
  y += 42
  y = facts(text, y, {
    Number: invoice.number,
    'Date of issue': moment(invoice.issued_at),
    ...(invoice.corrects !== null && { 'Corrects invoice': invoice.corrects }),
    'Top-up': invoice.payment.id,
    Paid: `${moment(invoice.payment.paid_at)}, ${METHODS[invoice.payment.rail]}`,
  })
  y += 18
  y = Math.max(
    block(text, LEFT, y, 'From', issuerLines(invoice)),
    block(text, SECOND_COLUMN, y, 'Billed to', customerLines(invoice)),
  )
  y = amounts(text, y + 26, invoice)
  for (const line of text.wrap(invoice.note, RIGHT - LEFT, MUTED)) {
    text.line(line, LEFT, y, MUTED)
    y += MUTED.size * LINE
  }
  return text.end()
}

const moment = (iso: string): string => `${iso.slice(0, 16).replace('T', ' ')} UTC`

function issuerLines({ issuer }: InvoiceDocument): string[] {
  const { name, address, taxId, email } = issuer
  return [name, ...address, taxId && `Tax ID: ${taxId}`, email].filter(Boolean)
}

function customerLines({ customer }: InvoiceDocument): string[] {
  const { name, address, country, tax_id: taxId, email } = customer
  return [name, ...address, country, taxId && `Tax ID: ${taxId}`, email].filter(Boolean)
}

function facts(text: PdfText, top: number, rows: Record<string, string>): number {
  let y = top
  for (const [name, value] of Object.entries(rows)) {
    text.line(name, LEFT, y, { ...BODY, color: '#555555' })
    text.line(value, LEFT + LABEL_WIDTH, y, BODY)
    y += BODY.size * LINE
  }
  return y
}

function block(text: PdfText, x: number, top: number, heading: string, lines: string[]): number {
  let y = top
  text.line(heading, x, y, MUTED)
  y += BODY.size * LINE
  const [first = '', ...others] = lines
  for (const [line, style] of [[first, STRONG] as const, ...others.map((other) => [other, BODY] as const)])
    for (const part of text.wrap(line, COLUMN_WIDTH, style)) {
      text.line(part, x, y, style)
      y += BODY.size * LINE
    }
  return y
}

/** Writes the line of the top-up and the totals. A credit note shows the amounts returned. */
function amounts(text: PdfText, top: number, invoice: InvoiceDocument): number {
  const { tax, total_usd: total } = invoice
  let y = top
  const rule = () => {
    text.document.moveTo(LEFT, y).lineTo(RIGHT, y).lineWidth(0.5).strokeColor('#999999').stroke()
    y += 8
  }
  const row = (name: string, amount: string, style: TextStyle) => {
    text.line(name, LEFT, y, style)
    text.line(amount, RIGHT, y, { ...style, right: true })
    y += style.size * LINE + 3
  }
  row('Description', 'Amount (USD)', MUTED)
  rule()
  row(invoice.description, money(total), BODY)
  rule()
  if (tax) {
    row('Net amount', money(tax.net_usd), BODY)
    row(`${tax.name} ${tax.percent} %, included`, money(tax.amount_usd), BODY)
  }
  row(invoice.kind === 'invoice' ? 'Total (USD)' : 'Total returned (USD)', money(total), STRONG)
  return y + 16
}

const money = (usd: string): string => {
  const [whole = '0', cents = '00'] = usd.split('.')
  return `${whole.replace(/\B(?=(\d{3})+$)/g, ',')}.${cents}`
}
