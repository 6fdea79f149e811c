import { crc32 } from 'node:zlib'
import type { CallEnvelope, Candidate } from '../../../core/calls/call-job.ts'
import type { Offer, Provider } from '../../../core/catalog/catalog.ts'
import { LEAST_REST_MS } from '../../../core/failover/key-health.ts'
import { chooseKey, type WeightedKey } from '../../../core/routing/key-pool.ts'
import type { KeyBoard } from '../../../offer-health/key-board.ts'
import { hasLimits, type LimitedKey } from '../../../offer-health/key-usage.ts'

/** One of several keys at a provider. */
export interface PoolKey extends LimitedKey {
  /** Absent: it is a BYOK key, whose secret is looked up for the attempt. */
  secret?: string
}

/** What a call needs to know of keys, where providers have several. */
export interface KeyPools {
  board: KeyBoard
  /** Our keys that take calls at a provider. */
  platformKeys: { pool(provider: Provider): ReadonlyArray<WeightedKey & LimitedKey & { secret: string }> }
}

/** The keys of the candidates of a call, where a provider has several. */
export class CallKeys {
  readonly #envelope: Pick<CallEnvelope, 'accountId' | 'affinity' | 'candidates'>
  readonly #offerOf: (candidate: Candidate) => Offer | undefined
  readonly #pools: KeyPools | undefined

  constructor(
    envelope: Pick<CallEnvelope, 'accountId' | 'affinity' | 'candidates'>,
    offerOf: (candidate: Candidate) => Offer | undefined,
    pools: KeyPools | undefined,
  ) {
    this.#envelope = envelope
    this.#offerOf = offerOf
    this.#pools = pools
  }

  /**
   * The key of an attempt: of ours the one that the conversation stays with. Null: none of ours takes calls now. Undefined: there is
   * one key.
   */
  choose(candidate: Candidate): PoolKey | null | undefined {
    const { offerId, providerKeyId } = candidate
    if (providerKeyId !== undefined)
      return this.#pools && this.#otherByokKeys(candidate).length > 0 ? { id: providerKeyId } : undefined
    const pool = this.#pool(candidate)
    if (!pool) return undefined
    const { accountId, affinity = crc32(accountId) } = this.#envelope
    return chooseKey(pool, {
      affinity,
      standing: (key) => this.#pools!.board.standing(offerId, key),
    })
  }

  /** Whether another of our keys may serve a candidate after the failure of one. */
  hasReady(candidate: Candidate): boolean {
    return this.#pool(candidate) !== undefined && this.backMs(candidate) === 0
  }

  /**
   * Milliseconds until a key takes a candidate's calls; 0: one does now, or there is one key. A BYOK key is passed over only while
   * another one of the account is ready.
   */
  backMs(candidate: Candidate): number {
    const board = this.#pools?.board
    if (!board) return 0
    const { offerId, providerKeyId } = candidate
    if (providerKeyId === undefined) {
      const pool = this.#pool(candidate)
      const backMs = pool ? Math.min(...pool.map((key) => board.backMs(offerId, key))) : 0
      if (backMs > 0) board.noteResting(offerId, backMs)
      return backMs
    }
    const isReady = (keyId: string | undefined) => board.standing(offerId, { id: keyId! }) === 'ready'
    if (isReady(providerKeyId)) return 0
    const isServed = this.#otherByokKeys(candidate).some((other) => isReady(other.providerKeyId))
    return isServed ? Math.max(LEAST_REST_MS, board.backMs(offerId, { id: providerKeyId })) : 0
  }

  #pool(candidate: Candidate): ReturnType<KeyPools['platformKeys']['pool']> | undefined {
    if (candidate.providerKeyId !== undefined || !this.#pools) return undefined
    const offer = this.#offerOf(candidate)
    const pool = offer && this.#pools.platformKeys.pool(offer.provider)
    return pool && (pool.length > 1 || pool.some(hasLimits)) ? pool : undefined
  }

  /** The candidates of the same offer with other BYOK keys. */
  #otherByokKeys({ offerId, providerKeyId }: Candidate): Candidate[] {
    return this.#envelope.candidates.filter(
      (other) =>
        other.offerId === offerId &&
        other.providerKeyId !== undefined &&
        other.providerKeyId !== providerKeyId,
    )
  }
}
