import { Counter, Gauge, type Registry } from 'prom-client'

/** The metrics of the settlement process. Alert on any growth of its counters except the first. */
export type BillingMetrics = ReturnType<typeof createBillingMetrics>

/** Registers the counters of settlement and maintenance. */
export function createBillingMetrics(registry: Registry) {
  const counter = (name: string, help: string) => new Counter({ name, help, registers: [registry] })
  return {
    settledCalls: counter('shuntyard_settled_calls_total', 'Calls settled, replays included.'),
    quarantinedCalls: counter('shuntyard_quarantined_calls_total', 'Settlements the database refused.'),
    driftedBalances: counter(
      'shuntyard_drifted_balances_total',
      'Accounts whose balance in Redis had drifted and was repaired.',
    ),
    /** As of the last comparison of each shard's balance caches by this process. */
    openHolds: new Gauge({
      name: 'shuntyard_holds_open',
      help: 'Open holds of all accounts when this process last compared the balance caches.',
      labelNames: ['shard'],
      registers: [registry],
    }),
    creditedCalls: counter(
      'shuntyard_credited_calls_total',
      'Charged calls that were credited because their client received an error.',
    ),
    lostCalls: counter('shuntyard_lost_calls_total', 'Expired holds of lost calls that were released.'),
  }
}
