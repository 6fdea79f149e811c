import { parseArgs } from 'node:util'
import { type CallRecord, createCallRecordStore } from '../billing/call-record-store.ts'
import { readConfig } from '../config.ts'
import { createFindQueuedCalls } from '../platform/queued-calls.ts'
import { createDispatchQueue, createSettlementQueue } from '../platform/queues.ts'
import { type CommandClients, openClients } from './clients.ts'
import { type CommandOutput, runCommand, UsageError } from './run-command.ts'
import { lines, usd } from './views.ts'

const USAGE = `Usage: npm run trace -- ID [--json]

  ID is a call's id (chatcmpl_…) or the x-request-id of a request.`

interface TraceEvent {
  at: string
  /** Milliseconds since the call was admitted. */
  after_ms: number
  event: string
}

/** `npm run trace -- ID [--json]`: the timeline of one call, or where a running one is. Exits 1 when nothing is known. */
async function main(args: string[]): Promise<CommandOutput> {
  const { positionals } = parseArgs({ args, options: { json: { type: 'boolean' } }, allowPositionals: true })
  const [id] = positionals
  if (!id) throw new UsageError(USAGE)
  const clients = openClients(readConfig(process.env), 'switchyard-trace', 0)
  try {
    const store = createCallRecordStore(clients.postgres)
    const record = await store.find(id)
    const records = record ? [record] : await store.findByRequestId(id)
    if (records.length === 0) return await traceRunning(id, clients)
    const traces = records.map(traceView)
    return {
      data: traces.length === 1 ? traces[0] : { calls: traces },
      text: traces.map(describe).join('\n\n'),
    }
  } finally {
    await clients.close()
  }
}

/** A call that is not settled yet: which queue it is in. Its job carries nothing an operator may read beyond that. */
async function traceRunning(id: string, clients: CommandClients): Promise<CommandOutput> {
  const dispatch = createDispatchQueue(clients.redis())
  const settlement = createSettlementQueue(clients.redis())
  try {
    const state = await dispatch.getJobState(id)
    const isQueued = (await createFindQueuedCalls(dispatch, settlement)([id])).has(id)
    if (isQueued) {
      const where =
        state === 'unknown' ? { queue: settlement.name, state: 'waiting' } : { queue: dispatch.name, state }
      const view = { id, status: 'in_flight', ...where }
      return { data: view, text: lines(view) }
    }
    throw new Error(`nothing is known of ${id}: it was refused before the queue, or never was`)
  } finally {
    await Promise.all([dispatch.close(), settlement.close()])
  }
}

function traceView(record: CallRecord) {
  const rate = (picoPerToken: bigint | null) =>
    picoPerToken === null ? null : usd(picoPerToken * 1_000_000n)
  return {
    id: record.id,
    account_id: record.accountId,
    key_id: record.keyId,
    request_id: record.requestId,
    status: record.status,
    error_code: record.errorCode,
    finish_reason: record.finishReason,
    stream: record.stream,
    requested_model: record.requestedModel,
    served_model: record.servedModelId,
    served_offer: record.servedOfferId,
    prompt_tokens: record.promptTokens,
    completion_tokens: record.completionTokens,
    usage_source: record.usageSource,
    usage_clamped: record.usageClamped,
    prompt_rate: rate(record.promptRatePico),
    completion_rate: rate(record.completionRatePico),
    rate_version: record.rateVersion,
    held_usd: usd(record.holdPico),
    charged_usd: usd(record.chargePico),
    timeline: timeline(record),
  }
}

function timeline(record: CallRecord): TraceEvent[] {
  const events: Array<[at: number | null, event: string]> = [
    [record.admittedAt, `admitted, ${usd(record.holdPico)} USD held`],
    [record.claimedAt, 'claimed by a worker'],
    ...record.attempts.flatMap((attempt): Array<[number, string]> => {
      const status = attempt.httpStatus === null ? '' : ` (HTTP ${attempt.httpStatus})`
      return [
        [attempt.startedAt, `attempt at ${attempt.offerId}`],
        [
          attempt.startedAt + attempt.durationMs,
          `attempt at ${attempt.offerId}: ${attempt.outcome}${status}`,
        ],
      ]
    }),
    [record.firstTokenAt, 'first token'],
    [record.finishedAt, `finished: ${record.status}`],
    [record.settledAt, `settled, ${usd(record.chargePico)} USD charged`],
  ]
  return events
    .flatMap(([at, event]) => (at === null ? [] : [{ at, event }]))
    .sort((one, other) => one.at - other.at)
    .map(({ at, event }) => ({ at: new Date(at).toISOString(), after_ms: at - record.admittedAt, event }))
}

function describe({ timeline, ...view }: ReturnType<typeof traceView>): string {
  const events = timeline.map(
    ({ at, after_ms, event }) => `${at}  ${`+${after_ms}`.padStart(8)} ms  ${event}`,
  )
  return `${lines(view)}\n\n${events.join('\n')}`
}

const args = process.argv.slice(2)
await runCommand(args.includes('--json'), () => main(args))
