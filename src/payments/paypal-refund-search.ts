import { DAY_MS } from '../core/kernel/time.ts'
import type { TimeSpan } from './payment-rail.ts'
import { type PaypalClient, PaypalError } from './paypal-client.ts'

const TRANSACTIONS = '/v1/reporting/transactions'
/** The code of a refund of a payment. */
const REFUND = 'T1107'
/** The longest period of one search. */
const SEARCH_MAX_MS = 31 * DAY_MS
const PAGE = 100
const FORBIDDEN = 403

interface TransactionPage {
  transaction_details?: Array<{ transaction_info?: { paypal_reference_id?: string } }>
  total_pages?: number
}

/**
 * The captures that were refunded in some periods, by PayPal's Transaction Search, which has a refund within three hours;
 * null if the client has no permission for it.
 */
export async function refundedCaptures(
  client: PaypalClient,
  spans: readonly TimeSpan[],
): Promise<Set<string> | null> {
  const found = new Set<string>()
  try {
    for (const { fromMs, toMs } of spans.flatMap((span) => [...searchable(span)])) {
      for (let page = 1, pages = 1; page <= pages; page += 1) {
        const answer = (await client.get(TRANSACTIONS, {
          start_date: new Date(fromMs).toISOString(),
          end_date: new Date(toMs).toISOString(),
          transaction_type: REFUND,
          balance_affecting_records_only: 'N',
          fields: 'transaction_info',
          page_size: String(PAGE),
          page: String(page),
        })) as TransactionPage
        for (const { transaction_info: info } of answer.transaction_details ?? [])
          if (info?.paypal_reference_id) found.add(info.paypal_reference_id)
        pages = answer.total_pages ?? 1
      }
    }
  } catch (error) {
    if (error instanceof PaypalError && error.status === FORBIDDEN) return null
    throw error
  }
  return found
}

/** A period in parts that one search covers. */
function* searchable({ fromMs, toMs }: TimeSpan): Generator<TimeSpan> {
  for (let from = fromMs; from < toMs; from += SEARCH_MAX_MS)
    yield { fromMs: from, toMs: Math.min(from + SEARCH_MAX_MS, toMs) }
}
