import { readFile } from 'node:fs/promises'
import { createProviderBillStore, providerOf } from '../billing/reports/provider-bill-store.ts'
import { type BillComparison, type OfferDay, readProviderBill } from '../core/billing/provider-bill.ts'
import { formatUsd } from '../core/kernel/money.ts'
import type { AdminCommands, AdminContext } from './admin-command.ts'
import { type CommandOutput, lines, UsageError } from './run-command.ts'

const TOLERANCE_PERCENT = 2
/** Offers and days. */
const LISTED = 500

/** Compares the providers' bills with the recorded calls, the only check that finds a call without a record. */
export const providerUsageCommands: AdminCommands = {
  async 'provider-usage compare'({ postgres, input }) {
    const tolerance = readPercent(input.option('tolerance'))
    const compared = await createProviderBillStore(postgres).compare(await readBill(input))
    return { ...report(compared, tolerance), failed: beyond(compared, tolerance).length > 0 }
  },

  async 'provider-usage import'({ postgres, input, auditLog, operator }) {
    const tolerance = readPercent(input.option('tolerance'))
    const billed = await readBill(input)
    const days = billed.map(({ day }) => day).toSorted()
    const providers = [...new Set(billed.map(({ offerId }) => providerOf(offerId)))]
    const details = { offersAndDays: billed.length, from: days[0]!, to: days.at(-1)! }
    const action = { action: 'provider_usage.import', target: providers.join(' '), details }
    const store = createProviderBillStore(postgres)
    return report(await auditLog.auditedAction(operator, action, () => store.import(billed)), tolerance)
  },

  async 'provider-usage list'({ postgres, input }) {
    const tolerance = readPercent(input.option('tolerance'))
    return report(await createProviderBillStore(postgres).list(input.count('limit') ?? LISTED), tolerance)
  },
}

async function readBill(input: AdminContext['input']): Promise<OfferDay[]> {
  const file = input.subject('name the CSV file of the usage that providers report')
  const billed = readProviderBill(await readFile(file, 'utf8'))
  if (billed.length === 0) throw new UsageError(`${file} contains no usage`)
  return billed
}

const beyond = (compared: readonly BillComparison[], tolerancePercent: number): BillComparison[] =>
  compared.filter(({ difference }) => difference * 100 > tolerancePercent)

function report(compared: readonly BillComparison[], tolerance: number): CommandOutput {
  const different = beyond(compared, tolerance)
  return {
    data: {
      ok: different.length === 0,
      tolerance_percent: tolerance,
      beyond_tolerance: different.length,
      usage: compared.map(view),
    },
    text: [
      `${compared.length} offers and days compared, ${different.length} differ by more than ${tolerance} %.`,
      ...different.map((one) => `\n${lines(flat(one))}`),
    ].join('\n'),
  }
}

function readPercent(text: string | undefined): number {
  const percent = text === undefined ? TOLERANCE_PERCENT : Number(text)
  if (!Number.isFinite(percent) || percent < 0 || percent > 100)
    throw new UsageError('--tolerance must be a percentage from 0 to 100')
  return percent
}

const view = ({ day, offerId, billed, recorded, difference }: BillComparison) => ({
  day,
  offer: offerId,
  difference_percent: percentOf(difference),
  billed: figures(billed),
  recorded: figures(recorded),
})

const percentOf = (difference: number): number => Math.round(difference * 10_000) / 100

function figures(usage: OfferDay | null) {
  if (!usage) return null
  const { promptTokens, completionTokens, costPico } = usage
  return {
    prompt_tokens: promptTokens === null ? null : Number(promptTokens),
    completion_tokens: completionTokens === null ? null : Number(completionTokens),
    cost_usd: costPico === null ? null : formatUsd(costPico),
  }
}

const flat = ({ day, offerId, billed, recorded, difference }: BillComparison) => ({
  day,
  offer: offerId,
  difference: `${percentOf(difference)} %`,
  billed: text(billed),
  recorded: text(recorded),
})

const text = (usage: OfferDay | null): string => {
  if (!usage) return 'nothing'
  const { promptTokens, completionTokens, costPico } = usage
  return `${promptTokens ?? '-'} and ${completionTokens ?? '-'} tokens, ${costPico === null ? '-' : formatUsd(costPico)} USD`
}
