import type { Registry } from 'prom-client'
import { startSchedules } from '../src/compose/schedules.ts'
import { composeSettlement } from '../src/compose/settlement.ts'
import type { Config } from '../src/config.ts'
import type { Logger } from '../src/platform/observability/logger.ts'
import { startAlarmSender } from './alarm-sender.ts'
import { startCatalogWorker } from './catalog-worker.ts'
import { createPostWebhook } from './events/deliver-event.ts'
import { openEventsClients, startEvents } from './events/events-part.ts'
import { startMailWorker } from './mail-worker.ts'
import { startSettlementWorker } from './settlement-worker.ts'

/**
 * Starts the settlement process: settles finished calls, runs the scheduled jobs, keeps the catalog up to date, sends
 * events and mail out.
 */
export async function startSettlementRole(
  config: Readonly<Config>,
  plainLogger: Logger,
  givenRegistry?: Registry,
): Promise<{ stop(): Promise<void> }> {
  const parts = await composeSettlement(config, plainLogger, givenRegistry)
  const { connections, logger, registry, report, resources } = parts
  const post = createPostWebhook({ allowPrivate: config.alarmsAllowPrivate })
  const running = [
    ...parts.settlers.map(startSettlementWorker),
    startEvents(config, openEventsClients(connections), logger, registry),
    await startSchedules(parts.schedules),
    await startCatalogWorker(parts.catalog),
    parts.mail && startMailWorker(parts.mail),
    { stop: startAlarmSender({ ...parts.alarms, post }) },
  ]
  report.start(parts.redis, () => ({ inFlightCalls: 0, concurrency: null }))
  resources.defer(() => report.stop())
  resources.defer(async () => void (await Promise.all(running.map((part) => part?.stop()))))
  return { stop: () => resources.disposeAsync() }
}
