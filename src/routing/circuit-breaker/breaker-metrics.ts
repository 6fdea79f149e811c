import { Gauge, type Registry } from 'prom-client'
import { type BreakerState, offerOfAccountSubject, providerOfOffer } from '../../core/failover/breaker.ts'
import type { BreakerBoard } from './breaker-board.ts'

const VALUES: Record<BreakerState, number> = { closed: 0, 'half-open': 1, open: 2 }

/** Exports the breakers that are not closed; one that is has no series. */
export function exportBreakers(board: BreakerBoard, registry: Registry): void {
  new Gauge({
    name: 'switchyard_offer_breaker_state',
    help: 'Breakers that are not closed: 1 half-open, 2 open. Without a model: of all offers of the provider.',
    labelNames: ['provider', 'model', 'reason'],
    registers: [registry],
    collect() {
      this.reset()
      // Of the breakers before one account each, whose number is theirs, one series an offer tells that there are some.
      const ofAccounts = new Set<string>()
      for (const { subject, breaker, reason } of board.state()) {
        const offerId = offerOfAccountSubject(subject)
        if (offerId !== null) ofAccounts.add(offerId)
        else if (reason !== null) this.set({ ...labels(subject), reason }, VALUES[breaker])
      }
      for (const offerId of ofAccounts) this.set({ ...labels(offerId), reason: 'failing-for-account' }, 2)
    },
  })
}

function labels(subject: string): { provider: string; model: string } {
  const provider = providerOfOffer(subject)
  return { provider, model: subject.slice(provider.length + 1) }
}
