/** The issuer of invoices as printed, and the tax in their amounts. */
export interface InvoiceSettings {
  issuer: {
    name: string
    address: string[]
    /** Empty: not printed. */
    taxId: string
    email: string
  }
  tax: {
    /** `VAT`, `GST`, … */
    name: string
    /** A decimal, such as `19`; 0: no tax is shown. */
    percent: string
    /** Printed below the amounts; empty: nothing. */
    note: string
  }
  /** Prefix of the number. Each issuer has one series of numbers for each prefix. */
  prefix: string
}

type Environment = Record<string, string | undefined>

const PERCENT = /^\d{1,2}(\.\d{1,3})?$/
const PREFIX = /^[A-Za-z0-9/_-]{1,20}$/
const TEXT_MAX = 500

/** Reads the issuer of invoices; null if none is configured. Adds to `problems`. */
export function readInvoiceSettings(environment: Environment, problems: string[]): InvoiceSettings | null {
  const read = (name: string, byDefault = '') => (environment[name] || byDefault).slice(0, TEXT_MAX)
  const name = read('INVOICE_ISSUER_NAME')
  const address = read('INVOICE_ISSUER_ADDRESS')
  if (name === '' && address === '') return null
  if (name === '' || address === '')
    problems.push('INVOICE_ISSUER_NAME and INVOICE_ISSUER_ADDRESS go together: one of them is missing')
  const percent = read('INVOICE_TAX_PERCENT', '0')
  if (!PERCENT.test(percent)) problems.push('INVOICE_TAX_PERCENT must be a percentage such as 19 or 8.1')
  const prefix = read('INVOICE_NUMBER_PREFIX', 'INV-')
  if (!PREFIX.test(prefix))
    problems.push('INVOICE_NUMBER_PREFIX takes up to 20 letters, digits and the signs - _ /')
  return {
    issuer: {
      name,
      address: address.split('|').flatMap((part) => part.trim() || []),
      taxId: read('INVOICE_ISSUER_TAX_ID'),
      email: read('INVOICE_ISSUER_EMAIL'),
    },
    tax: { name: read('INVOICE_TAX_NAME', 'VAT'), percent, note: read('INVOICE_TAX_NOTE') },
    prefix,
  }
}
