import type { CallEnvelope, Candidate } from '../../core/calls/call-job.ts'
import type { CatalogSnapshot, Offer } from '../../core/catalog/catalog.ts'
import type { Route, RouteHealth } from '../../core/failover/failover-state.ts'
import { keepsPrivate } from '../../core/routing/offer-filter.ts'
import type { BreakerBoard } from '../../routing/circuit-breaker/breaker-board.ts'

/** The candidates of a call, as catalog and board have them now. */
export class CallRoutes {
  readonly #envelope: CallEnvelope
  readonly #catalog: () => CatalogSnapshot
  readonly #board: Pick<BreakerBoard, 'health'>

  constructor(envelope: CallEnvelope, catalog: () => CatalogSnapshot, board: Pick<BreakerBoard, 'health'>) {
    this.#envelope = envelope
    this.#catalog = catalog
    this.#board = board
  }

  get modelCount(): number {
    return new Set(this.#envelope.candidates.map(({ modelId }) => modelId)).size
  }

  /** The candidates as the decision sees them, in their order. */
  routes(): Route[] {
    return this.#envelope.candidates.map((candidate) => ({
      modelId: candidate.modelId,
      contextLength: candidate.contextLength,
      providerKeyId: candidate.providerKeyId,
      health: this.health(candidate),
    }))
  }

  candidate(index: number): Candidate {
    const candidate = this.#envelope.candidates[index]
    if (!candidate) throw new Error(`the plan of ${this.#envelope.id} has no candidate ${index}`)
    return candidate
  }

  /** Undefined where it left the catalog. */
  offer({ offerId }: Candidate): Offer | undefined {
    return this.#catalog().offers.get(offerId)
  }

  /** How an offer fares with our key says nothing of another key's standing there. */
  health(candidate: Candidate): RouteHealth {
    const { offerId, providerKeyId, privacy } = candidate
    const offer = this.offer(candidate)
    if (!offer || (privacy && !keepsPrivate(offer.provider, privacy))) return { kind: 'gone' }
    return providerKeyId === undefined
      ? this.#board.health(offerId, this.#envelope.accountId)
      : { kind: 'ready' }
  }

  /** Whether any of these routes uses our capacity. */
  areShared(indexes: readonly number[]): boolean {
    return indexes.some((index) => this.candidate(index).providerKeyId === undefined)
  }

  /** Whether a route is healthy, and at another provider than one that failed. */
  isHealthyElsewhere(index: number, failed: number): boolean {
    const [candidate, other] = [this.candidate(index), this.candidate(failed)]
    const isElsewhere = this.offer(candidate)?.provider.id !== this.offer(other)?.provider.id
    return isElsewhere && this.health(candidate).kind === 'ready'
  }
}
