import { readFile } from 'node:fs/promises'
import { recordedProviderUsage } from '../billing/reports/recorded-provider-usage.ts'
import {
  type BillComparison,
  compareBill,
  type OfferDay,
  readProviderBill,
} from '../core/billing/provider-bill.ts'
import { formatUsd } from '../core/kernel/money.ts'
import type { AdminCommands } from './admin-command.ts'
import { lines, UsageError } from './run-command.ts'

const TOLERANCE_PERCENT = 2

/** Compares the providers' bills with the recorded calls, the only check that finds a call without a record. */
export const providerUsageCommands: AdminCommands = {
  async 'provider-usage compare'({ postgres, input }) {
    const file = input.subject('name the CSV file of the usage that providers report')
    const tolerance = readPercent(input.option('tolerance'))
    const billed = readProviderBill(await readFile(file, 'utf8'))
    if (billed.length === 0) throw new UsageError(`${file} contains no usage`)
    const providers = [...new Set(billed.map(({ offerId }) => offerId.split('/')[0]!))]
    const days = [...new Set(billed.map(({ day }) => day))]
    const recorded = await recordedProviderUsage(postgres, providers, days)
    const compared = compareBill(billed, recorded)
    const beyond = compared.filter(({ difference }) => difference * 100 > tolerance)
    return {
      data: {
        ok: beyond.length === 0,
        tolerance_percent: tolerance,
        beyond_tolerance: beyond.length,
        usage: compared.map(view),
      },
      text: [
        `${compared.length} offers and days compared, ${beyond.length} differ by more than ${tolerance} %.`,
        ...beyond.map((one) => `\n${lines(flat(one))}`),
      ].join('\n'),
      failed: beyond.length > 0,
    }
  },
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
