import type { Logger } from 'pino'
import type { PaymentRailName } from '../core/billing/postings.ts'
import type { Postgres } from '../platform/postgres/postgres.ts'
import type { SavedCard } from '../platform/prisma-client/client.ts'
import type { CardRail, PaymentRail, PaymentRails, RailCard } from './payment-rail.ts'

export type { SavedCard } from '../platform/prisma-client/client.ts'

/** Maximum unfinished pages of an account; older ones have expired at the rail. */
const SETUPS_MAX = 20

export type CardSetupOpening =
  | { kind: 'opened'; setupId: string; url: string | null }
  /** No configured rail saves cards. */
  | { kind: 'no_rail' }
  | { kind: 'too_many' }

const FINISH = `
UPDATE card_setups SET finished_at = now() WHERE rail = $1::payment_rail AND id = $2 AND finished_at IS NULL
RETURNING account_id AS "accountId"`

/** A new card resumes paused automatic top-ups. */
const RESUME = `
UPDATE auto_top_ups SET resumed_at = $2, wait_until = NULL, paused_at = NULL, pause_reason = NULL WHERE account_id = $1`

const SWITCH_OFF = 'UPDATE auto_top_ups SET enabled = false WHERE account_id = $1'

/** Saved cards, at most one per account, over the rails that save them. */
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

  /** Saves the card of a page and returns the card it replaced. */
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
      // It is no longer charged, whether or not the rail still has it.
      await rails
        .get(replaced.rail)
        ?.cards?.removeCard(replaced.methodId)
        .catch((error: unknown) => {
          logger.warn({ err: error, accountId: setup.accountId }, 'replaced card not removed at its rail')
        })
    }
    return find(setup.accountId)
  }

  return {
    find,

    /** The rail that saves cards; null: none does. */
    rail: (): PaymentRailName | null => cardRail(rails)?.name ?? null,

    /** Opens the rail's page for saving or replacing a card. Rejects while the rail is away. */
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

    /** Saves the card of a page. Changes nothing for a repetition, or for an unfinished or unknown page. */
    finish,

    /** The same for the holder who returns from a page; a page of another account is ignored. */
    async finishOwn(accountId: string, setupId: string): Promise<SavedCard | null> {
      const setup = await postgres.cardSetup.findFirst({ where: { id: setupId, accountId } })
      return setup && finish(setup.rail, setupId)
    },

    /** Removes the card, at its rail first, and disables automatic top-ups. Rejects while the rail is away. */
    async remove(accountId: string): Promise<void> {
      const card = await find(accountId)
      if (!card) return
      await rails.get(card.rail)?.cards?.removeCard(card.methodId)
      await postgres.$transaction(async (transaction) => {
        await transaction.savedCard.deleteMany({ where: { accountId, methodId: card.methodId } })
        await transaction.$executeRawUnsafe(SWITCH_OFF, accountId)
      })
    },

    /** Removes the account at all rails, and its data here. Rejects while a rail is away. */
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

/** If there are several, the one that moves real money: they are in that order. */
const cardRail = (rails: PaymentRails): PaymentRail | undefined =>
  [...rails.values()].find(({ cards }) => cards !== null)
