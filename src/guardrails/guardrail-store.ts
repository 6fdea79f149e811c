import type { GuardPoint, Guardrail } from '../core/guardrails/guardrail.ts'
import { ApiError, invalid } from '../core/kernel/errors.ts'
import { newId } from '../core/kernel/ids.ts'
import { checkWebhookUrl } from '../platform/network/public-address.ts'
import type { Postgres } from '../platform/postgres/postgres.ts'
import type { Sealer } from '../platform/sealing.ts'
import { isSigningSecret, newSigningSecret } from '../webhooks/webhook-headers.ts'

/** A guardrail without its secret. */
export interface StoredGuardrail extends Omit<Guardrail, 'secretSealed'> {
  hasSecret: boolean
  createdAt: Date
}

/** `secret`: undefined: that of before; null: none, or of kind `http` a new one. */
export interface GuardrailChange extends Omit<Guardrail, 'id' | 'secretSealed'> {
  points: GuardPoint[]
  secret: string | null | undefined
}

/** The guardrails of accounts. A change resolves once every instance applies it. */
export type GuardrailStore = ReturnType<typeof createGuardrailStore>

export function createGuardrailStore(options: {
  postgres: Postgres
  sealer: Sealer
  announceAccount: (accountId: string) => Promise<void>
  randomBytes: (count: number) => Uint8Array
  allowPrivate: boolean
}) {
  const { postgres, sealer, announceAccount, randomBytes, allowPrivate } = options

  const find = (accountId: string, keyId: string | null): Promise<Guardrail | null> =>
    postgres.guardrail.findFirst({ where: { accountId, keyId } }) as Promise<Guardrail | null>

  return {
    find,

    /** That of all keys first. */
    async list(accountId: string): Promise<StoredGuardrail[]> {
      const rows = await postgres.guardrail.findMany({
        where: { accountId },
        orderBy: [{ keyId: { sort: 'asc', nulls: 'first' } }],
      })
      return rows.map(({ secretSealed, accountId: _, ...row }) => ({
        ...row,
        hasSecret: secretSealed !== null,
      })) as StoredGuardrail[]
    },

    /** Creates it, or replaces its settings; returns a new signing secret, if it made one. Throws ApiError. */
    async set(accountId: string, { secret: given, ...change }: GuardrailChange): Promise<string | null> {
      const { keyId, kind } = change
      const check = checkWebhookUrl(change.url, allowPrivate)
      if (check.kind === 'refused') throw invalid('url', `This URL ${check.reason}.`)
      if (given && kind === 'http' && !isSigningSecret(given))
        throw invalid('secret', 'A signing secret is `whsec_` and 24 bytes or more in base64.')
      if (keyId !== null) {
        const key = await postgres.apiKey.findFirst({ where: { id: keyId, accountId, state: 'active' } })
        if (!key) throw invalid('key_id', 'This account has no active key with this id.')
      }
      const before = await find(accountId, keyId)
      const keeps = given === undefined && before?.kind === kind
      // An API key is sent as it is: who may change the address must not get it.
      const isElsewhere = keeps && new URL(before.url).origin !== new URL(change.url).origin
      if (isElsewhere && kind !== 'http' && before.secretSealed !== null)
        throw invalid('secret', 'The URL has another host. State the API key of the service again, or null.')
      const made = !given && !keeps && kind === 'http' ? newSigningSecret(randomBytes) : null
      const secret = given ?? made
      const id = before?.id ?? newId('guard')
      const data = {
        ...{ ...change, points: [...change.points], settings: change.settings as object },
        ...(!keeps && { secretSealed: secret === null ? null : sealer.seal(secret, id) }),
      }
      await postgres.guardrail.upsert({
        where: { id },
        create: { id, accountId, ...data },
        update: data,
      })
      await announceAccount(accountId)
      return made
    },

    /** Throws ApiError `not_found`. */
    async remove(accountId: string, keyId: string | null): Promise<void> {
      const { count } = await postgres.guardrail.deleteMany({ where: { accountId, keyId } })
      if (count === 0) throw noSuchGuardrail()
      await announceAccount(accountId)
    },
  }
}

export const noSuchGuardrail = () => new ApiError('not_found', 'This account has no such guardrail.')
