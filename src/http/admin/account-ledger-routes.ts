import { Readable } from 'node:stream'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import {
  type BalancedLine,
  formatPlace,
  placeAfter,
  readPlace,
} from '../../billing/ledger/account-ledger-store.ts'
import { type LedgerFilter, topUpOf } from '../../billing/ledger/ledger-list-store.ts'
import { AccountLedgerRow, AccountLedgerTotals, LEDGER_KINDS } from '../../core/api/account-ledger.ts'
import { CLOSED } from '../../core/api/request-fields.ts'
import { Page } from '../../core/api/shared.ts'
import type { LedgerKind } from '../../core/billing/postings.ts'
import { formatUsd } from '../../core/kernel/money.ts'
import { isoDay, isoTime } from '../../core/kernel/time.ts'
import { whenResponseCloses } from '../calls/event-stream.ts'
import { asCsv, csvLine } from '../csv.ts'
import { OfId, pageOf } from '../page.ts'
import { needs, operatorRoute, signedInOperator } from '../plugins/operator-access.ts'
import { reportSlots } from '../slots.ts'

const FILTER = {
  kind: Type.Optional(Type.Enum([...LEDGER_KINDS])),
  /** `each`: a line for every charged call instead of one for each day. */
  calls: Type.Enum(['by_day', 'each'], { default: 'by_day' }),
}
const PageQuery = Type.Object(
  {
    ...FILTER,
    limit: Type.Integer({ minimum: 1, maximum: 200, default: 50 }),
    cursor: Type.Optional(Type.String()),
  },
  CLOSED,
)
const REPORTS_MAX = 4
const REPORTS_PER_OPERATOR_MAX = 2
const CSV_PAGE = 1_000

/** The ledger of one account: every movement with the balance after it, its totals by kind, and a CSV export. */
export const accountLedgerRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { accountLedger } = app.billing
  const { accountManagement, auditLog } = app.operators
  const slots = reportSlots(REPORTS_MAX, REPORTS_PER_OPERATOR_MAX)

  /** The authors of credits and adjustments, by reference. */
  const authorsOf = async (accountId: string): Promise<Map<string, string>> => {
    const posted = await Promise.all(
      ['account.credit', 'account.adjust'].map((action) => auditLog.latest(action, [accountId])),
    )
    return new Map(
      posted.flat().flatMap(({ actor, details }): Array<[string, string]> => {
        const { reference } = details as { reference?: unknown }
        return typeof reference === 'string' ? [[reference, actor]] : []
      }),
    )
  }

  app.get(
    '/accounts/:id/ledger',
    operatorRoute('read', Page(AccountLedgerRow), { params: OfId, querystring: PageQuery }),
    async (request) => {
      const { limit, cursor, ...filter } = request.query
      const place = readPlace(cursor)
      const { id } = await accountManagement.find(request.params.id)
      return slots.run(signedInOperator(request).id, async () => {
        const lines = await accountLedger.page(id, place, limit + 1, filterOf(filter))
        const authors = await authorsOf(id)
        return pageOf(
          lines,
          limit,
          (line) => rowOf(line, authors),
          (shown) => formatPlace(placeAfter(shown, place)),
        )
      })
    },
  )

  app.get(
    '/accounts/:id/ledger/totals',
    operatorRoute('read', AccountLedgerTotals, { params: OfId }),
    async (request) => {
      const { id } = await accountManagement.find(request.params.id)
      return slots.run(signedInOperator(request).id, async () => {
        const { totals, balancePico } = await accountLedger.totals(id)
        const sumPico = totals.reduce((sum, { amountPico }) => sum + amountPico, 0n)
        return {
          object: 'ledger_totals' as const,
          data: totals.map(({ kind, count, amountPico }) => ({
            kind,
            count,
            amount_usd: formatUsd(amountPico),
          })),
          sum_usd: formatUsd(sumPico),
          balance_usd: formatUsd(balancePico),
        }
      })
    },
  )

  app.get(
    '/accounts/:id/ledger.csv',
    { ...needs('read'), schema: { params: OfId, querystring: Type.Object(FILTER, CLOSED) } },
    async (request, reply) => {
      const filter = filterOf(request.query)
      const { id } = await accountManagement.find(request.params.id)
      const authors = await authorsOf(id)
      // Before the head: a response that has begun cannot be refused.
      whenResponseCloses(reply.raw, slots.take(signedInOperator(request).id))
      async function* records(): AsyncGenerator<string> {
        yield csvLine(CSV_HEAD)
        for (let place = readPlace(undefined); ; ) {
          const from = place
          const lines = await accountLedger.page(id, from, CSV_PAGE, filter)
          yield lines.map((line) => csvLine(csvCells(rowOf(line, authors)))).join('')
          if (lines.length < CSV_PAGE) return
          place = placeAfter(lines, from)
        }
      }
      return asCsv(reply, `ledger-${id}`).send(Readable.from(records(), { objectMode: false }))
    },
  )
}

const filterOf = ({ kind, calls }: { kind?: LedgerKind; calls: 'by_day' | 'each' }): LedgerFilter => ({
  kind: kind ?? null,
  byCall: calls === 'each',
})

function rowOf(line: BalancedLine, authors: ReadonlyMap<string, string>): AccountLedgerRow {
  const row = {
    at: isoTime(line.at),
    amount_usd: formatUsd(line.amountPico),
    balance_usd: line.balanceAfterPico === null ? null : formatUsd(line.balanceAfterPico),
    ...{ call_id: null, model: null, top_up_id: null, day: null, calls: null, reason: null, by: null },
  }
  switch (line.type) {
    case 'charges': {
      const day = isoDay(line.day)
      return { ...row, id: `capture/${day}`, kind: 'capture', day, calls: line.calls }
    }
    case 'call':
      return { ...row, id: line.id, kind: 'capture', call_id: line.id, model: line.model }
    default: {
      const { id, kind, note } = line
      return {
        ...row,
        id: `${id}/${kind}`,
        kind,
        top_up_id: topUpOf(line),
        reason: note,
        by: authors.get(id) ?? null,
      }
    }
  }
}

const CSV_HEAD = [
  ...['at', 'kind', 'amount_usd', 'balance_usd', 'id', 'call_id', 'model', 'top_up_id', 'day', 'calls'],
  ...['reason', 'by'],
]
const csvCells = (row: AccountLedgerRow) => [
  ...[row.at, row.kind, row.amount_usd, row.balance_usd, row.id, row.call_id, row.model, row.top_up_id],
  ...[row.day, row.calls, row.reason, row.by],
]
