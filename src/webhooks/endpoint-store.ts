import { newId } from '../core/kernel/ids.ts'
import type { SubscribedEventType } from '../core/webhooks/event.ts'
import type { Postgres, PostgresTransaction } from '../platform/postgres/postgres.ts'
import type { WebhookEndpoint as EndpointRow } from '../platform/prisma-client/client.ts'
import type { Sealer } from '../platform/sealing.ts'
import { recordEvent } from './event-outbox.ts'
import { newSigningSecret } from './webhook-headers.ts'

/** A webhook endpoint as stored, without its secrets. */
export type WebhookEndpoint = Pick<EndpointRow, keyof typeof PUBLIC>

export type EndpointStore = ReturnType<typeof createEndpointStore>

/** The sealing purpose of endpoint secrets; their context is the endpoint's id. */
export const WEBHOOK_SECRET_PURPOSE = 'webhook-secret'

export const ENDPOINTS_PER_ACCOUNT_MAX = 10

const PUBLIC = {
  id: true,
  accountId: true,
  url: true,
  eventTypes: true,
  enabled: true,
  disabledReason: true,
  failingSince: true,
  createdAt: true,
} as const

const ROTATE = `
UPDATE webhook_endpoints SET
  previous_secret_sealed = secret_sealed,
  previous_secret_until = now() + $3::bigint * interval '1 millisecond',
  secret_sealed = $2
WHERE id = $1 RETURNING id`

/** The endpoint store over PostgreSQL. `randomBytes` is the source of new secrets. */
export function createEndpointStore(
  postgres: Postgres,
  sealer: Sealer,
  randomBytes: (count: number) => Uint8Array,
) {
  const newSecret = () => newSigningSecret(randomBytes)
  const find = (client: PostgresTransaction, id: string) =>
    client.webhookEndpoint.findUnique({ where: { id }, select: PUBLIC })

  return {
    /** Adds an endpoint. The secret is returned only once. Throws if the account has the maximum number. */
    async create(
      accountId: string,
      url: string,
      eventTypes: readonly SubscribedEventType[],
    ): Promise<{ endpoint: WebhookEndpoint; secret: string }> {
      const id = newId('hook')
      const secret = newSecret()
      const endpoint = await postgres.$transaction(async (transaction) => {
        // With the account's row locked, no other transaction counts at the same time.
        await transaction.$queryRawUnsafe('SELECT id FROM accounts WHERE id = $1 FOR UPDATE', accountId)
        const count = await transaction.webhookEndpoint.count({ where: { accountId } })
        if (count >= ENDPOINTS_PER_ACCOUNT_MAX)
          throw new Error(`an account can have at most ${ENDPOINTS_PER_ACCOUNT_MAX} webhook endpoints`)
        return transaction.webhookEndpoint.create({
          data: { id, accountId, url, eventTypes: [...eventTypes], secretSealed: sealer.seal(secret, id) },
          select: PUBLIC,
        })
      })
      return { endpoint, secret }
    },

    /** Oldest first; of one account, or all. */
    async list(accountId?: string): Promise<WebhookEndpoint[]> {
      return postgres.webhookEndpoint.findMany({
        ...(accountId !== undefined && { where: { accountId } }),
        orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
        select: PUBLIC,
      })
    },

    /** Deletes an endpoint and the log of its deliveries; false if it does not exist. */
    async remove(id: string): Promise<boolean> {
      return (await postgres.webhookEndpoint.deleteMany({ where: { id } })).count > 0
    },

    /**
     * Replaces the secret. The old one also signs for `overlapMs`, so that the receiver can switch without losing an
     * event. Null if the endpoint does not exist.
     */
    async rotateSecret(id: string, overlapMs: number): Promise<string | null> {
      const secret = newSecret()
      const rows = await postgres.$queryRawUnsafe<unknown[]>(
        ROTATE,
        id,
        sealer.seal(secret, id),
        BigInt(overlapMs),
      )
      return rows.length > 0 ? secret : null
    },

    /** Enables an endpoint again; dropped deliveries are not restored. Null if the endpoint does not exist. */
    async enable(id: string): Promise<WebhookEndpoint | null> {
      await postgres.webhookEndpoint.updateMany({
        where: { id },
        data: { enabled: true, disabledReason: null, failingSince: null },
      })
      return find(postgres, id)
    },

    /** Sends a `webhook.test` to this endpoint only. Returns the event's id; null if the endpoint does not exist. */
    async test(id: string): Promise<string | null> {
      return postgres.$transaction(async (transaction) => {
        const endpoint = await find(transaction, id)
        if (!endpoint) return null
        const { accountId } = endpoint
        return recordEvent(transaction, {
          type: 'webhook.test',
          accountId,
          endpointId: id,
          data: { endpoint_id: id },
        })
      })
    },
  }
}
