import { Gauge, type Registry } from 'prom-client'
import type { BreakerState } from '../src/core/breaker.ts'
import { providerOfOffer } from '../src/core/breaker.ts'
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
      for (const { subject, breaker, reason } of board.state()) {
        const provider = providerOfOffer(subject)
        const model = subject.slice(provider.length + 1)
        if (reason !== null) this.set({ provider, model, reason }, VALUES[breaker])
      }
    },
  })
}
