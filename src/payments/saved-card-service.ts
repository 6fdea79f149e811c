import type { Logger } from 'pino'
import type { PaymentRailName } from '../core/payments/payment.ts'
import type { Postgres } from '../platform/postgres/postgres.ts'
import type { SavedCard } from '../platform/prisma-client/client.ts'
import type { CardRail, PaymentRail, PaymentRails, RailCard } from './payment-rail.ts'

export type { SavedCard } from '../platform/prisma-client/client.ts'

/** Saved cards, one of an account at most. */
export type SavedCardService = ReturnType<typeof createSavedCardService>

/** Pages of an account that are not finished; older ones of the rail have lapsed. */
const SETUPS_MAX = 20

export type CardSetupOpening =
  | { kind: 'opened'; setupId: string; url: string | null }
  /** No rail that is set up saves cards. */
  | { kind: 'no_rail' }
  | { kind: 'too_many' }

const FINISH = `
UPDATE card_setups SET finished_at = now() WHERE rail = $1::payment_rail AND id = $2 AND finished_at IS NULL
RETURNING account_id AS "accountId"`

/** A new card is a new chance for automatic top-ups that were paused. */
const RESUME = `
UPDATE auto_top_ups SET resumed_at = $2, wait_until = NULL, paused_at = NULL, pause_reason = NULL WHERE account_id = $1`

const SWITCH_OFF = 'UPDATE auto_top_ups SET enabled = false WHERE account_id = $1'

/** The service over the rails that save cards. */
export function createSavedCardService(deps: {
  postgres: Postgres
  rails: PaymentRails
  logger: Logger
  clock: () => number
}) {
  const { postgres, rails, logger } = deps
  const find = (accountId: string): Promise<SavedCard | null> =>
    postgres.savedCard.findUnique({ where: { accountId } })

  const customerOf = async (accountId: string, rail: PaymentRail, cards: CardRail): Promise<string> => {
    const key = { accountId, rail: rail.name }
    const known = await postgres.railCustomer.findUnique({ where: { accountId_rail: key } })
    if (known) return known.customerId
    const customerId = await cards.createCustomer(accountId)
    const kept = await postgres.railCustomer.upsert({
      where: { accountId_rail: key },
      create: { ...key, customerId },
      update: {},
    })
    return kept.customerId
  }

  /** The card as it was replaced. */
  const keep = (rail: PaymentRailName, setupId: string, card: RailCard): Promise<SavedCard | null> =>
    postgres.$transaction(async (transaction) => {
      const [setup] = await transaction.$queryRawUnsafe<Array<{ accountId: string }>>(FINISH, rail, setupId)
      if (!setup) return null
      const { accountId } = setup
      const replaced = await transaction.savedCard.findUnique({ where: { accountId } })
      const saved = { rail, ...card, savedAt: new Date(deps.clock()) }
      await transaction.savedCard.upsert({
        where: { accountId },
        create: { accountId, ...saved },
        update: saved,
      })
      await transaction.$executeRawUnsafe(RESUME, accountId, saved.savedAt)
      return replaced
    })

  const finish = async (rail: PaymentRailName, setupId: string): Promise<SavedCard | null> => {
    const setup = await postgres.cardSetup.findUnique({ where: { rail_id: { rail, id: setupId } } })
    const cards = rails.get(rail)?.cards
    if (!setup || !cards) return null
    if (setup.finishedAt !== null) return find(setup.accountId)
    const card = await cards.readSetup(setupId)
    if (card === null) return null
    const replaced = await keep(rail, setupId, card)
    if (replaced && replaced.methodId !== card.methodId) {
      // It is charged no more, whether the rail still has it or not.
      await rails
        .get(replaced.rail)
        ?.cards?.removeCard(replaced.methodId)
        .catch((error: unknown) => {
          logger.warn(
            { err: error, accountId: setup.accountId },
            'a replaced card is still saved at its rail',
          )
        })
    }
    return find(setup.accountId)
  }

  return {
    find,

    /** The rail that saves cards here; null: none does. */
    rail: (): PaymentRailName | null => cardRail(rails)?.name ?? null,

    /** Opens a page of the rail on which a card is saved, or replaced. Rejects while the rail is away. */
    async openSetup(accountId: string): Promise<CardSetupOpening> {
      const rail = cardRail(rails)
      if (!rail?.cards) return { kind: 'no_rail' }
      const recent = { accountId, finishedAt: null, createdAt: { gt: new Date(deps.clock() - 86_400_000) } }
      if ((await postgres.cardSetup.count({ where: recent })) >= SETUPS_MAX) return { kind: 'too_many' }
      const customerId = await customerOf(accountId, rail, rail.cards)
      const { setupId, url } = await rail.cards.openSetup(customerId)
      await postgres.cardSetup.create({ data: { rail: rail.name, id: setupId, accountId } })
      if (url === null) await finish(rail.name, setupId)
      return { kind: 'opened', setupId, url }
    },

    /** Saves the card of a page; again, or for a page that is not done or not known, it changes nothing. */
    finish,

    /** The same for the holder who comes back from a page; another account's page is none. */
    async finishOwn(accountId: string, setupId: string): Promise<SavedCard | null> {
      const setup = await postgres.cardSetup.findFirst({ where: { id: setupId, accountId } })
      return setup && finish(setup.rail, setupId)
    },

    /** Removes the card, at its rail first, and switches automatic top-ups off. Rejects while the rail is away. */
    async remove(accountId: string): Promise<void> {
      const card = await find(accountId)
      if (!card) return
      await rails.get(card.rail)?.cards?.removeCard(card.methodId)
      await postgres.$transaction(async (transaction) => {
        await transaction.savedCard.deleteMany({ where: { accountId, methodId: card.methodId } })
        await transaction.$executeRawUnsafe(SWITCH_OFF, accountId)
      })
    },

    /** Removes whatever rails know of an account, and what is known of that here. Rejects while a rail is away. */
    async forget(accountId: string): Promise<void> {
      const ofAccount = { where: { accountId } }
      for (const { rail, customerId } of await postgres.railCustomer.findMany(ofAccount))
        await rails.get(rail)?.cards?.removeCustomer(customerId)
      await postgres.$transaction([
        postgres.autoTopUp.deleteMany(ofAccount),
        postgres.savedCard.deleteMany(ofAccount),
        postgres.cardSetup.deleteMany(ofAccount),
        postgres.railCustomer.deleteMany(ofAccount),
      ])
    },
  }
}

/** Of several, the one where money moves: they are in that order. */
const cardRail = (rails: PaymentRails): PaymentRail | undefined =>
  [...rails.values()].find(({ cards }) => cards !== null)
