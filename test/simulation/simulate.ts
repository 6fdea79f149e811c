import { type ClientCall, sendCall } from './client.ts'
import { type Api, type Bug, Gateway, LOCK_MS, type Worker } from './gateway.ts'
import { brokenLaw, brokenRest, type Excuses, NO_EXCUSES, type World } from './invariants.ts'
import { type Plan, type PlannedEvent, planOf } from './plan.ts'
import { SeededRandom } from './seeded-random.ts'
import { type SimulatedProcess, SimulatedTime } from './simulated-time.ts'

export interface RunResult {
  /** What broke, or null. */
  broken: string | null
  steps: number
  /** What happened, a line each. */
  trace: string[]
  plan: Plan
  outcomes: Record<string, number>
}

/** From the last event of the plan. */
const LONGEST_RUN_MS = 60_000
const QUIET_MS = 3_000
/** The sweep looks after holds of this age; Redis's data counts as young until then. */
const SWEEP_AFTER_MS = 130_000

/** Runs the gateway through one plan, checking every law after every step. The same arguments run the same. */
export async function simulate(
  seed: number,
  bug: Bug | null = null,
  plan: Plan = planOf(seed),
): Promise<RunResult> {
  const time = new SimulatedTime()
  const uninstall = time.install()
  try {
    return await new Run(seed, time, plan, bug).run()
  } finally {
    uninstall()
  }
}

/** Leaves out of a plan whatever is not needed to break a law. */
export async function shrink(seed: number, bug: Bug | null): Promise<RunResult> {
  let smallest = await simulate(seed, bug)
  for (let index = smallest.plan.events.length - 1; index >= 0; index--) {
    const events = smallest.plan.events.filter((_, other) => other !== index)
    const without = await simulate(seed, bug, { ...smallest.plan, events })
    if (without.broken !== null) smallest = without
  }
  return smallest
}

class Run implements World {
  readonly gateway: Gateway
  readonly accountIds: readonly string[]
  readonly calls: ClientCall[] = []
  readonly workers: Worker[] = []
  readonly killed = new Set<SimulatedProcess>()
  private readonly seed: number
  private readonly time: SimulatedTime
  private readonly random: SeededRandom
  readonly plan: Plan
  private readonly apis: Api[] = []
  private readonly settlers: SimulatedProcess[] = []
  private readonly trace: string[] = []
  private readonly startMs: number
  /** Of each Redis server: what happened to it or to all, and what is excused thereby. */
  private readonly servers: Array<{ happened: Set<PlannedEvent['do']>; excuses: Excuses }>
  private pending = 0
  /** Lines of the trace at the last look. */
  private heard = 0

  constructor(seed: number, time: SimulatedTime, plan: Plan, bug: Bug | null) {
    this.seed = seed
    this.time = time
    this.plan = plan
    this.random = new SeededRandom(seed ^ 0x5eed)
    this.gateway = new Gateway(time, this.random, plan, bug)
    this.servers = this.gateway.redis.map(() => ({ happened: new Set(), excuses: { ...NO_EXCUSES } }))
    this.accountIds = plan.accountIds
    for (const [index, id] of this.accountIds.entries())
      this.gateway.ledger.openAccount(id, plan.openingPico[index]!)
    this.startMs = time.nowMs
  }

  async run(): Promise<RunResult> {
    for (let part = 0; part < 2; part++) {
      await this.start('both')
    }
    for (let settler = 0; settler < this.plan.settlers; settler++)
      this.settlers.push(await this.gateway.startSettlement())
    // A fresh Redis counts as one that lost its data; most runs begin later than that.
    if (this.random.chance(0.9)) await this.stepUntil(() => false, 2_000)
    for (const event of this.plan.events) this.soon(event.atMs, () => this.carryOut(event))

    const broken = (await this.untilQuiet()) ?? (await this.rest())
    const outcomes: Record<string, number> = {}
    for (const { status } of this.calls) outcomes[status] = (outcomes[status] ?? 0) + 1
    if (broken) this.note(`BROKEN ${broken}`)
    return { broken, steps: this.time.steps, trace: this.trace, plan: this.plan, outcomes }
  }

  /** Steps until something is so, a law is broken, or the time is over. Returns the broken law. */
  private async stepUntil(isOver: () => boolean, forMs: number): Promise<string | null> {
    const untilMs = this.time.nowMs + forMs
    while (!isOver() && (await this.time.step(untilMs))) {
      // Laws are about what servers know and clients were told; other steps change neither.
      if (this.time.last !== null && this.heard === this.trace.length) continue
      this.heard = this.trace.length
      const broken = brokenLaw(this)
      if (broken) return broken
    }
    return null
  }

  private isDone(): boolean {
    const { queues } = this.gateway
    return (
      this.pending === 0 &&
      queues.every(({ dispatch, settlement }) => dispatch.jobs.size + settlement.jobs.size === 0) &&
      this.calls.every((call) => call.status !== 'waiting')
    )
  }

  private left(): string {
    const { queues } = this.gateway
    const ofCalls = queues.flatMap(({ dispatch }) => [...dispatch.jobs.values()])
    const jobs = ofCalls.map(({ id, state }) => `${id} (${state})`)
    const settling = queues.reduce((sum, { settlement }) => sum + settlement.jobs.size, 0)
    const waiting = this.calls.filter((call) => call.status === 'waiting').map((call) => call.id)
    return `dispatch jobs ${jobs}, ${settling} settlement jobs, clients of ${waiting}`
  }

  /** Steps until nothing is in flight, and stays so for a while: what was cut off may still come back. */
  private async untilQuiet(): Promise<string | null> {
    const longestMs = LONGEST_RUN_MS + Math.max(0, ...this.plan.events.map(endOf))
    const untilMs = this.time.nowMs + longestMs
    while (this.time.nowMs < untilMs) {
      const broken =
        (await this.stepUntil(() => this.isDone(), longestMs)) ??
        (await this.stepUntil(() => false, QUIET_MS))
      if (broken) return broken
      if (this.isDone()) return null
    }
    return `after ${longestMs / 1000} s there is still ${this.left()}`
  }

  /** Everything stops, the sweep comes by, and the figures must be back where they began, less the charges. */
  private async rest(): Promise<string | null> {
    for (const { process } of [...this.apis, ...this.workers]) process.isAlive = false
    for (const process of this.settlers) process.isAlive = false
    this.time.nowMs += SWEEP_AFTER_MS
    await this.gateway.maintain()
    return (await this.stepUntil(() => false, 10_000)) ?? brokenRest(this)
  }

  private soon(afterMs: number, run: () => void | Promise<void>): void {
    this.pending += 1
    this.time.after(afterMs, null, () => {
      void (async () => {
        await run()
        this.pending -= 1
      })()
    })
  }

  private async carryOut(event: PlannedEvent): Promise<void> {
    for (const [index, { happened }] of this.servers.entries())
      if (!('server' in event) || event.server === index) happened.add(event.do)
    const { gateway } = this
    switch (event.do) {
      case 'call':
        return this.call(event.account, event.seed)
      case 'hang-up':
        return this.cancel(event.call)
      case 'credit':
        return this.credit(event.account, event.amountPico)
      case 'maintain':
        this.note('maintenance')
        return gateway.maintain()
      case 'give-up-calls': {
        const api = this.random.pick(this.alive(this.apis))
        this.note(`${api.process.name} gives its calls up`)
        this.noteLosses()
        return this.time.runAs(api.process, () => {
          for (const { hub } of api.paths) hub.failAll()
        })
      }
      case 'kill-api':
        return this.killPart(this.apis, event.backAfterMs)
      case 'kill-dispatch':
        return this.killPart(this.workers, event.backAfterMs)
      case 'kill-settlement':
        this.killSettlers()
        this.soon(event.backAfterMs, async () => void this.settlers.push(await gateway.startSettlement()))
        return
      case 'pause-dispatch':
        return this.pause(this.random.pick(this.alive(this.workers)).process, event.forMs)
      case 'pause-settlement':
        return this.pause(this.settlers.at(-1)!, event.forMs)
      case 'postgres-away':
        this.note(`postgres away for ${event.forMs} ms`)
        gateway.postgresServer.goAway()
        return this.soon(event.forMs, () => gateway.postgresServer.comeBack())
      case 'redis-away':
      case 'redis-replaced':
        return this.redisAway(event.server, event.do === 'redis-replaced', event.forMs)
      case 'redis-rolled-back':
        return this.redisRolledBack(event)
      case 'redis-emptied':
        this.note(`${this.nameOf(event.server)} emptied`)
        gateway.emptyRedis(event.server)
        return this.noteLosses()
    }
  }

  private async call(account: number, seed: number): Promise<void> {
    const api = this.random.pick(this.alive(this.apis))
    const note = (call: ClientCall, what: string) => this.note(`${call.id} ${what}`)
    await this.time.runAs(api.process, () => {
      const call = sendCall(
        api,
        this.accountIds[account]!,
        this.plan.budgets[account]!,
        this.plan.isUnlike,
        new SeededRandom(seed),
        this.time.nowMs,
        note,
      )
      this.calls.push(call)
      this.note(`${call.id} sent to ${api.process.name}, ${call.prompt}${call.isStream ? ', streamed' : ''}`)
    })
  }

  private async cancel(index: number): Promise<void> {
    const call = this.calls[index]
    if (call?.status !== 'waiting' || call.cancel === null) return
    const { cancel, api } = call
    this.note(`${call.id} hung up`)
    call.status = 'hung-up'
    await this.time.runAs(api.process, cancel)
  }

  /** As a top-up does: the ledger first, then the balance cache. */
  private credit(index: number, amountPico: bigint): void {
    const accountId = this.accountIds[index]!
    const account = this.gateway.ledger.accounts.get(accountId)!
    account.balancePico += amountPico
    account.version += 1n
    account.history.set(account.version, account.balancePico)
    // The opening balance stands for everything that was ever credited.
    for (const [version] of account.history) if (version === 1n) this.credited(accountId, amountPico)
    this.note(`${accountId} credited ${amountPico}`)
  }

  private credited(accountId: string, amountPico: bigint): void {
    const entries = [
      { ledgerAccount: `customer:${accountId}`, amountPico },
      { ledgerAccount: 'adjustments', amountPico: -amountPico },
    ] as const
    this.gateway.ledger.postings.push({ id: `credit_${this.time.nowMs}`, kind: 'credit', accountId, entries })
  }

  /** Starts an API instance, a dispatch worker, or one of each: in one process where the plan says so. */
  private async start(what: 'api' | 'worker' | 'both'): Promise<void> {
    const { gateway } = this
    if (what === 'both' && this.plan.isOneProcess) {
      const { api, worker } = await gateway.startBoth()
      this.apis.push(api)
      this.workers.push(worker)
      return
    }
    if (what !== 'worker') this.apis.push(await gateway.startApi())
    if (what !== 'api') this.workers.push(await gateway.startDispatch())
  }

  private killPart(parts: readonly (Api | Worker)[], backAfterMs: number): void {
    const victim = this.kill(parts)
    if (!victim) return
    for (const call of this.calls) {
      if (!call.api.process.isAlive && call.status === 'waiting') call.status = 'connection-lost'
    }
    // With a process dies everything in it.
    if (this.plan.isOneProcess)
      for (const { happened } of this.servers) happened.add('kill-dispatch').add('kill-api')
    this.noteLosses()
    const what = this.plan.isOneProcess ? 'both' : parts === this.apis ? 'api' : 'worker'
    this.soon(backAfterMs, () => this.start(what))
  }

  private kill<T extends { process: SimulatedProcess }>(processes: readonly T[]): T | null {
    // The last one stays: clients must have somewhere to call, and calls somewhere to end.
    if (this.alive(processes).length === 1) return null
    const victim = this.random.pick(this.alive(processes))
    victim.process.isAlive = false
    this.killed.add(victim.process)
    this.note(`${victim.process.name} killed`)
    return victim
  }

  private pause(process: SimulatedProcess, forMs: number): void {
    process.pausedUntilMs = this.time.nowMs + forMs
    if (forMs >= LOCK_MS / 3) for (const { excuses } of this.servers) excuses.maySettleStale = true
    this.note(`${process.name} paused for ${forMs} ms`)
    this.noteLosses()
  }

  /** Where several processes settle, one of them. */
  private killSettlers(): void {
    const alive = this.settlers.filter(({ isAlive }) => isAlive)
    const victims = alive.length > 1 ? [this.random.pick(alive)] : alive
    for (const process of victims) {
      process.isAlive = false
      this.note(`${process.name} killed`)
    }
  }

  private nameOf(server: number): string {
    return this.gateway.redis[server]!.server.name
  }

  private redisAway(index: number, isEmpty: boolean, forMs: number): void {
    const { server } = this.gateway.redis[index]!
    this.note(`${server.name} away for ${forMs} ms${isEmpty ? ', comes back empty' : ''}`)
    server.goAway()
    if (forMs >= LOCK_MS / 3) this.servers[index]!.excuses.maySettleStale = true
    if (isEmpty) this.gateway.emptyRedis(index)
    this.noteLosses()
    this.soon(forMs, () => server.comeBack())
  }

  private redisRolledBack(event: Extract<PlannedEvent, { do: 'redis-rolled-back' }>): void {
    const { gateway } = this
    const name = this.nameOf(event.server)
    let restore: (() => void) | null = gateway.keepState(event.server)
    this.note(`what ${name} knows by now is what it will come back with`)
    let isUntil = event.untilEnqueued
    const keepOnce = () => {
      if (restore === null || !isUntil) return
      isUntil = false
      restore = gateway.keepState(event.server)
      this.note(`what ${name} knows by now is what it will come back with`)
    }
    for (const { dispatch } of gateway.queuesAt(event.server)) if (isUntil) dispatch.onAdded(keepOnce)
    this.soon(event.lostMs, () => {
      this.redisAway(event.server, false, event.forMs)
      restore?.()
      restore = null
      this.note(`${name} lost its last moments`)
    })
  }

  /** Which promises cannot be kept any more, as docs/money.md says. */
  private noteLosses(): void {
    for (const [index, { happened, excuses }] of this.servers.entries()) {
      // Admissions of these moments are forgotten as well, and are held again only when their workers are back.
      if (happened.has('redis-rolled-back')) excuses.mayOverspend = excuses.mayMissSpending = true
      if (PARTS_END_FROM_SETTLEMENT.some((fault) => happened.has(fault))) excuses.maySettleUnheard = true
      const isLossHere = (event: PlannedEvent) =>
        isLoss(event) && 'server' in event && event.server === index && happened.has(event.do)
      const losses = this.plan.events.filter(isLossHere).length
      if (losses === 0) continue
      excuses.mayHoldMore = true
      if (happened.has('kill-dispatch')) excuses.mayLoseCharges = true
      // Nobody resyncs what a worker that died had held; what it had settled may be on its way all the same.
      const late = ['kill-dispatch', 'pause-dispatch', 'redis-away'] as const
      if (late.some((fault) => happened.has(fault)) || losses > 1) excuses.mayOverspend = true
    }
  }

  isUntouched(accountId: string): boolean {
    return !FAULTS.some((fault) => this.servers[this.gateway.serverOf(accountId)]!.happened.has(fault))
  }

  excusesOf(accountId: string): Excuses {
    return this.servers[this.gateway.serverOf(accountId)]!.excuses
  }

  private alive<T extends { process: SimulatedProcess }>(processes: readonly T[]): T[] {
    return processes.filter(({ process }) => process.isAlive)
  }

  private note(what: string): void {
    const atMs = Math.round(this.time.nowMs - this.startMs)
    const names = new Map(this.calls.map((call, index) => [call.id as string, `call ${index}`]))
    this.trace.push(
      `${String(atMs).padStart(6)} ms  ${what.replace(/chatcmpl_\w+/g, (id) => names.get(id) ?? id)}`,
    )
  }
}

/** What can come between the settlement of an answer and its client's hearing of it, if the last frame is lost. */
const PARTS_END_FROM_SETTLEMENT = [
  'kill-dispatch',
  'redis-away',
  'redis-emptied',
  'redis-replaced',
  'redis-rolled-back',
] as const

const FAULTS = [
  'kill-api',
  'kill-dispatch',
  'kill-settlement',
  'pause-dispatch',
  'pause-settlement',
  'postgres-away',
  'redis-away',
  'redis-emptied',
  'redis-replaced',
  'redis-rolled-back',
  'give-up-calls',
] as const

const endOf = (event: PlannedEvent): number => event.atMs + ('forMs' in event ? event.forMs : 0)

const LOSSES: ReadonlySet<PlannedEvent['do']> = new Set([
  'redis-emptied',
  'redis-replaced',
  'redis-rolled-back',
])
const isLoss = ({ do: kind }: PlannedEvent): boolean => LOSSES.has(kind)

/** A failed run for a person: how to run it again, and the least that has to happen for it. */
export async function report(seed: number, bug: Bug | null = null): Promise<string> {
  const { broken, trace } = await shrink(seed, bug)
  return [
    `seed ${seed}: ${broken}`,
    `SIMULATION_SEED=${seed} runs it again. The least of it:`,
    ...trace,
  ].join('\n')
}
