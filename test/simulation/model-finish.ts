import type { FinishResult, FinishStep } from '../../src/calls/worker/finish-calls.ts'
import type { CallJob } from '../../src/core/calls/call-job.ts'
import type { Frame } from '../../src/core/calls/frames.ts'
import type { SettlementJob } from '../../src/platform/queues/queues.ts'
import { accountKeys, type Sharded, unacknowledgedEndsKey } from '../../src/platform/redis/redis-keys.ts'
import type { ModelQueue } from './model-queue.ts'
import type { ModelRedis } from './model-redis.ts'
import { endInGate } from './model-scripts.ts'

export interface FinishModels extends Sharded {
  data: ModelRedis
  nowMs: number
  /** What came of the last step of each worker that finished calls. */
  lastSteps: Map<string, { jobId: string; results: FinishResult[] }>
  hasFrames: (channel: string) => boolean
  publish: (channel: string, frames: readonly Frame[]) => void
  /** The worker's id and the token of its locks. */
  token: string
  dispatch: ModelQueue<CallJob>
  settlement: ModelQueue<SettlementJob>
}

/** src/calls/worker/finish-calls.lua, over the models. */
export function finishCalls(
  models: FinishModels,
  settlementJobId: string,
  calls: ReadonlyArray<FinishStep & { isPublished: boolean }>,
): FinishResult[] {
  const { data, nowMs, lastSteps, hasFrames, publish, token, dispatch, settlement } = models
  const lastStep = lastSteps.get(token)
  if (lastStep?.jobId === settlementJobId) return lastStep.results
  const finished: Array<(typeof calls)[number]> = []
  const results = calls.map((call): FinishResult => {
    const refused = refusal(dispatch, token, call.record.id, call.claim)
    if (refused !== null) return refused
    const told = dispatch.jobs.get(call.record.id)?.told
    if (call.needsSubscriber && told) return told
    if (call.needsSubscriber && call.isPublished && !hasFrames(call.channel)) return 'no-subscriber'
    finished.push(call)
    return 'finished'
  })
  for (const { record, claim } of finished) {
    const { accountId, id, chargePico } = record
    endInGate(data, [accountKeys(accountId, models).record], [id, chargePico])
    if (claim !== 'any') dispatch.jobs.delete(id)
  }
  if (finished.length > 0) {
    lastSteps.set(token, { jobId: settlementJobId, results })
    settlement.add(settlementJobId, { records: finished.map(({ record }) => record) }, 0, 'settle')
  }
  for (const { record, channel, isPublished, needsSubscriber, takenTokens } of finished) {
    const taken = needsSubscriber && record.chargePico !== '0' ? String(takenTokens) : ''
    if (channel !== '' && (isPublished || taken !== ''))
      data.hash(unacknowledgedEndsKey(channel)).set(record.id, `${taken}:${nowMs}:${token}`)
  }
  for (const channel of new Set(finished.map((call) => call.channel))) {
    if (channel === '') continue
    const ofChannel = finished.filter((call) => call.channel === channel && call.isPublished)
    if (ofChannel.length === 0) continue
    publish(
      channel,
      ofChannel.map(({ last }) => last),
    )
  }
  return results
}

function refusal(
  queue: ModelQueue<CallJob>,
  token: string,
  id: string,
  claim: FinishStep['claim'],
): 'gone' | 'lost' | null {
  if (claim === 'any') return null
  const job = queue.jobs.get(id)
  if (!job) return 'gone'
  if (claim === 'revived') return job.name !== 'revived' || job.attemptsStarted > 0 ? 'lost' : null
  return job.attemptsStarted === claim && job.claimedBy === token ? null : 'lost'
}
