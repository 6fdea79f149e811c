import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import {
  AutoTopUpBody,
  type AutoTopUpSettingsView,
  AutoTopUpView,
  CardSetupView,
  ConfirmCardBody,
  SavedCardView,
} from '../../../core/api/auto-top-up.ts'
import { jsonView } from '../../../core/api/json-view.ts'
import { ApiError } from '../../../core/kernel/errors.ts'
import { formatUsd, lesserOf, type PicoUsd, parseUsd } from '../../../core/kernel/money.ts'
import { isoTime, isoTimeOrNull } from '../../../core/kernel/time.ts'
import { type AutoTopUpPause, THRESHOLD_AMOUNTS_MAX } from '../../../core/payments/auto-top-up.ts'
import { fromCents, readTopUpAmount } from '../../../core/payments/top-up-amount.ts'
import type { AutoTopUp } from '../../../payments/auto-top-up-store.ts'
import type { Payments } from '../../../payments/create-payments.ts'
import type { SavedCard } from '../../../payments/saved-card-service.ts'
import { bySession } from '../../account-api/account-access.ts'
import { topUpOptions } from '../../account-api/top-ups.ts'
import { createSlots } from '../../slots.ts'

/** Maximum threshold and monthly maximum. */
const USD_MAX = parseUsd('1000000')
/** Concurrent requests to a rail, of one instance. */
const ASKING_MAX = 20

/** The saved card of an account and its automatic top-ups. */
export const autoTopUpRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { throttleAccount } = app.accounts
  const { cards, autoTopUps } = app.billing.payments
  const { requester, hooks } = bySession(app, 'billing')
  const options = topUpOptions(app.billing)
  const amounts = { minPico: parseUsd(options.min_usd), maxPico: parseUsd(options.max_usd) }
  const slots = createSlots({
    max: ASKING_MAX,
    allTaken: 'Too many requests about cards at once. Retry shortly.',
    maxPerHolder: 2,
    holderIsFull: 'Another request about the card of this account is running. Wait for it.',
  })
  const view = (accountId: string) => autoTopUpView(app.billing.payments, accountId)
  /** Runs a request to the rail, which may be away. */
  const asking = <T>(accountId: string, work: () => Promise<T>): Promise<T> =>
    slots.run(accountId, () => work().catch(refuseUnreachable))

  const reading = { ...hooks, schema: { response: { 200: AutoTopUpView } } }
  app.get('/auto-top-up', reading, (request) => view(requester(request).accountId))

  const saving = { ...hooks, schema: { body: AutoTopUpBody, response: { 200: AutoTopUpView } } }
  app.patch('/auto-top-up', saving, async (request) => {
    const { accountId } = requester(request)
    const { body } = request
    const amountPico = readAmount('amount_usd', body.amount_usd, amounts)
    const settings = {
      enabled: body.enabled,
      thresholdPico: readAmount('threshold_usd', body.threshold_usd, {
        minPico: fromCents(1),
        maxPico: lesserOf(USD_MAX, amountPico * THRESHOLD_AMOUNTS_MAX),
      }),
      amountPico,
      monthlyMaxPico: readAmount('monthly_maximum_usd', body.monthly_maximum_usd, {
        minPico: amountPico,
        maxPico: USD_MAX,
      }),
    }
    if (settings.enabled && (await cards.find(accountId)) === null)
      throw new ApiError('conflict', 'Save a card first.')
    // Disabling always works.
    if (settings.enabled) await throttleAccount('auto-top-up', accountId)
    await autoTopUps.save(accountId, settings)
    await app.recordAction(request, 'auto_top_up.set', accountId, {
      enabled: settings.enabled,
      threshold_usd: formatUsd(settings.thresholdPico),
      amount_usd: formatUsd(settings.amountPico),
      monthly_maximum_usd: formatUsd(settings.monthlyMaxPico),
    })
    return view(accountId)
  })

  const opening = { ...hooks, schema: { response: { 201: CardSetupView } } }
  app.post('/saved-card', opening, async (request, reply) => {
    const { accountId } = requester(request)
    const opened = await asking(accountId, () => cards.openSetup(accountId))
    switch (opened.kind) {
      case 'opened':
        await app.recordAction(request, 'saved_card.requested', opened.setupId)
        return reply.code(201).send({ id: opened.setupId, url: opened.url })
      case 'no_rail':
        throw new ApiError('conflict', 'Saving cards is not available on this gateway.')
      case 'too_many':
        throw new ApiError('rate_limit_exceeded', 'Too many attempts to save a card. Retry tomorrow.', {
          retryAfterSeconds: 3_600,
        })
      default:
        return opened satisfies never
    }
  })

  const confirming = { ...hooks, schema: { body: ConfirmCardBody, response: { 200: AutoTopUpView } } }
  app.post('/saved-card/confirm', confirming, async (request) => {
    const { accountId } = requester(request)
    await asking(accountId, () => cards.finishOwn(accountId, request.body.id))
    return view(accountId)
  })

  app.delete('/saved-card', hooks, async (request, reply) => {
    const { accountId } = requester(request)
    await asking(accountId, () => cards.remove(accountId))
    await app.recordAction(request, 'saved_card.removed', accountId)
    return reply.code(204).send()
  })
}

/** An amount in whole cents within a range. Throws ApiError. */
function readAmount(
  param: string,
  given: string | number,
  range: { minPico: PicoUsd; maxPico: PicoUsd },
): PicoUsd {
  const read = readTopUpAmount(given, range)
  if (read.kind === 'amount') return read.amountPico
  const [min, max] = [formatUsd(range.minPico), formatUsd(range.maxPico)]
  throw new ApiError(
    'invalid_request',
    `\`${param}\` must be an amount from ${min} to ${max} USD, in whole cents.`,
    { param },
  )
}

function refuseUnreachable(cause: unknown): never {
  if (cause instanceof ApiError) throw cause
  throw new ApiError('overloaded', 'The payment provider cannot be reached right now. Retry shortly.', {
    retryAfterSeconds: 5,
    cause,
  })
}

/** The saved card of an account and its automatic top-ups, for its holder and operators. */
export async function autoTopUpView(
  { cards, autoTopUps, payments }: Pick<Payments, 'cards' | 'autoTopUps' | 'payments'>,
  accountId: string,
): Promise<AutoTopUpView> {
  const [card, settings, spentPico] = await Promise.all([
    cards.find(accountId),
    autoTopUps.find(accountId),
    autoTopUps.spentThisMonth(accountId),
  ])
  const latest = settings?.pausedAt ? await payments.latestCharge(accountId) : null
  const rail = cards.rail()
  return {
    available: rail !== null,
    test: rail === 'development',
    card: card && cardView(card),
    settings: settings && settingsView(settings, spentPico, latest?.failureReason ?? null),
    spent_this_month_usd: formatUsd(spentPico),
  }
}

const cardView = (card: SavedCard): SavedCardView =>
  jsonView(SavedCardView, { ...card, test: card.rail === 'development' })

const settingsView = (
  settings: AutoTopUp,
  spentPico: bigint,
  failureReason: string | null,
): AutoTopUpSettingsView => ({
  enabled: settings.enabled,
  threshold_usd: formatUsd(settings.thresholdPico),
  amount_usd: formatUsd(settings.amountPico),
  monthly_maximum_usd: formatUsd(settings.monthlyMaxPico),
  paused: settings.pausedAt && {
    reason: settings.pauseReason as AutoTopUpPause,
    at: isoTime(settings.pausedAt),
    detail: failureReason,
  },
  next_charge_after: isoTimeOrNull(settings.waitUntil),
  monthly_maximum_reached: spentPico + settings.amountPico > settings.monthlyMaxPico,
})
