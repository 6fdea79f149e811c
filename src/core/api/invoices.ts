import { type Static, Type } from 'typebox'
import { CLOSED, nullable } from './request-fields.ts'
import { DecimalUsd, IsoTime } from './shared.ts'

const Customer = Type.Object({
  /** Empty: the email is used instead. */
  name: Type.String(),
  address: Type.Array(Type.String()),
  /** ISO 3166-1 alpha-2, or empty. */
  country: Type.String(),
  tax_id: Type.String(),
  email: Type.String(),
})

const Issuer = Type.Object({
  name: Type.String(),
  address: Type.Array(Type.String()),
  tax_id: Type.String(),
  email: Type.String(),
})

/** GET /console/api/invoices?cursor&limit → Page<InvoiceView>, newest first. GET /console/api/invoices/:id/pdf is the document. */
export const InvoiceView = Type.Object({
  id: Type.String(),
  /** `INV-000012` */
  number: Type.String(),
  kind: Type.Enum(['invoice', 'credit_note']),
  issued_at: IsoTime,
  top_up_id: Type.String(),
  total_usd: DecimalUsd,
  /** No money was paid. */
  test: Type.Boolean(),
})
export type InvoiceView = Static<typeof InvoiceView>

/** GET /console/api/top-ups/:id/invoices: in the order of issue, with their printed content. */
export const TopUpInvoices = Type.Object({
  data: Type.Array(
    Type.Interface([InvoiceView], {
      issuer: Issuer,
      customer: Customer,
      /** The number of the invoice that it corrects. */
      corrects: nullable(Type.String()),
      description: Type.String(),
      /** Null: no tax is shown. The total includes the tax. */
      tax: nullable(
        Type.Object({
          name: Type.String(),
          percent: Type.String(),
          net_usd: DecimalUsd,
          amount_usd: DecimalUsd,
        }),
      ),
      note: Type.String(),
    }),
  ),
})
export type TopUpInvoices = Static<typeof TopUpInvoices>

const LINES_MAX = 6

const text = (name: string, maxLength: number) =>
  Type.String({
    maxLength,
    errorMessage: `\`${name}\` takes up to ${maxLength} characters.`,
  })

/** PATCH /console/api/billing-details: the recipient of later invoices. Empty texts are omitted on them. */
export const BillingDetailsBody = Type.Object(
  {
    name: text('name', 120),
    /** Lines without the country, at most six. */
    address: Type.String({
      maxLength: 400,
      pattern: `^[^\\n]*(\\n[^\\n]*){0,${LINES_MAX - 1}}$`,
      errorMessage: `\`address\` takes up to ${LINES_MAX} lines and 400 characters.`,
    }),
    country: Type.String({
      pattern: '^([A-Z]{2})?$',
      errorMessage: '`country` takes a code of two letters, such as DE, or nothing.',
    }),
    tax_id: text('tax_id', 40),
  },
  CLOSED,
)
export type BillingDetailsBody = Static<typeof BillingDetailsBody>

/** GET /console/api/billing-details; PATCH → the same. */
export const BillingDetailsView = Type.Object({
  name: Type.String(),
  address: Type.String(),
  country: Type.String(),
  tax_id: Type.String(),
  /** Whether this gateway issues invoices. */
  invoices: Type.Boolean(),
})
export type BillingDetailsView = Static<typeof BillingDetailsView>
