import { parseArgs } from 'node:util'
import { ARCHIVED_CALL, type CallRecords, createCallRecords } from '../billing/call-records/call-records.ts'
import { findCallInFlight } from '../billing/call-records/find-call-in-flight.ts'
import { settledTimeline } from '../billing/call-records/operator-call.ts'
import { readConfig } from '../config.ts'
import type { TimelineEvent } from '../core/api/calls.ts'
import type { TimeRange } from '../core/billing/usage-query.ts'
import { callIdOfResponse, requestedAt } from '../core/kernel/ids.ts'
import { DAY_MS } from '../core/kernel/time.ts'
import { closeCallQueues, openCallQueues } from '../platform/queues/call-queues.ts'
import type { Redis } from '../platform/redis/redis.ts'
import { withClients } from './clients.ts'
import { type CommandOutput, lines, runAsProcess, UsageError } from './run-command.ts'

const USAGE = `Usage: npm run trace -- ID [--days N] [--json]

  ID is a call's id (chatcmpl_…), its response's (resp_…) or the x-request-id of a request. One that the gateway made
  names its time; a client's own is looked for among the calls of the last N days (31 by default), the latest first:
  that reads all calls of a day until it is found.`

const DAYS = 31

/** `npm run trace -- ID [--days N] [--json]`: the timeline of a call, or the place of a running one. Exits 1 if the call is unknown. */
export async function trace(args: string[], environment: NodeJS.ProcessEnv): Promise<CommandOutput> {
  const options = { json: { type: 'boolean' }, days: { type: 'string' } } as const
  const { positionals, values } = parseArgs({ args, options, allowPositionals: true })
  const id = callIdOfResponse(positionals[0] ?? '')
  const days = Number(values.days ?? DAYS)
  if (!id || !(days > 0)) throw new UsageError(USAGE)
  return withClients(
    readConfig(environment),
    'shuntyard-trace',
    async ({ postgres, redis }) => {
      const store = createCallRecords(postgres)
      const record = await store.find(id)
      const now = Date.now()
      const at = values.days === undefined ? requestedAt(id) : null
      const windows = at === null ? latestDays(days, now) : [{ fromMs: at, toMs: at }]
      const records = record ? [record] : await findByRequest(store, id, windows)
      if (records.length === 0 && (await store.isArchived(id))) throw new Error(ARCHIVED_CALL)
      const where = at === null ? `in ${days} days` : `at ${new Date(at).toISOString()}; others with --days N`
      if (records.length === 0) return traceRunning(id, where, redis)
      const traces = records.map(settledTimeline)
      return {
        data: traces.length === 1 ? traces[0] : { calls: traces },
        text: traces.map(describe).join('\n\n'),
      }
    },
    0,
  )
}

/** The latest days, the last one first. */
const latestDays = (days: number, nowMs: number): TimeRange[] =>
  Array.from({ length: Math.ceil(days) }, (_, day) => ({
    fromMs: nowMs - Math.min(day + 1, days) * DAY_MS,
    toMs: nowMs - day * DAY_MS,
  }))

/** The calls of a request in the first window that has some. Each is a range of the primary key. */
async function findByRequest(store: CallRecords, requestId: string, windows: readonly TimeRange[]) {
  for (const window of windows) {
    const records = await store.findByRequestId(requestId, window)
    if (records.length > 0) return records
  }
  return []
}

/** The place of a call that is not settled. An operator may read nothing else of its job. */
async function traceRunning(id: string, where: string, redis: Redis): Promise<CommandOutput> {
  const queues = openCallQueues(redis)
  try {
    const found = await findCallInFlight(id, queues)
    if (!found)
      throw new Error(`call ${id} not found (by request id: ${where}); rejected requests have no record`)
    const { candidates, timeline, ...view } = found
    const targets = candidates.map(({ offer }) => offer).join(', ')
    return { data: found, text: `${lines({ ...view, candidates: targets })}\n\n${eventLines(timeline)}` }
  } finally {
    await closeCallQueues(queues)
  }
}

function describe({ timeline, attempts: _attempts, ...view }: ReturnType<typeof settledTimeline>): string {
  return `${lines({ ...view })}\n\n${eventLines(timeline)}`
}

const eventLines = (timeline: readonly TimelineEvent[]): string =>
  timeline.map(({ at, after_ms, event }) => `${at}  ${`+${after_ms}`.padStart(8)} ms  ${event}`).join('\n')

if (import.meta.main) await runAsProcess(trace)
