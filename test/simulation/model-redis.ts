import type { CallJob } from '../../src/core/calls/call-job.ts'
import { SCRIPTS } from './model-scripts.ts'

/** Enqueues a call with its admission (1), or if a worker is named claims it (2), if it can be (else 0). */
type EnqueueCall = (
  callId: string,
  job: CallJob,
  claim: { token: string; lockMs: number } | null,
) => 0 | 1 | 2

/** The data of a Redis server: what the gateway's commands need of it. Amounts are text, as there. */
export class ModelRedis {
  readonly strings = new Map<string, string>()
  readonly hashes = new Map<string, Map<string, string>>()
  readonly sortedSets = new Map<string, Map<string, number>>()
  readonly sets = new Map<string, Set<string>>()
  readonly enqueueCall: EnqueueCall
  private readonly clock: () => number
  private epochs = 0

  constructor(clock: () => number, enqueueCall: EnqueueCall = () => 1) {
    this.clock = clock
    this.enqueueCall = enqueueCall
  }

  get nowMs(): number {
    return this.clock()
  }

  flush(): void {
    for (const kind of [this.strings, this.hashes, this.sortedSets, this.sets]) kind.clear()
  }

  /** Keeps a copy of all it knows; the returned function goes back to it. */
  keepState(): () => void {
    const kinds = [this.strings, this.hashes, this.sortedSets, this.sets] as Array<Map<string, unknown>>
    const kept = kinds.map((kind) => structuredClone(kind))
    return () => {
      this.flush()
      for (const [index, kind] of kinds.entries())
        for (const [key, value] of kept[index]!) kind.set(key, value)
    }
  }

  /** Runs one of the gateway's scripts by the name it is defined under. */
  script(name: string, keys: string[], args: string[]): unknown {
    const script = SCRIPTS[name]
    if (!script) throw new Error(`the model has no script ${name}`)
    return script(this, keys, args)
  }

  newEpoch(): string {
    this.epochs += 1
    return `epoch${this.epochs}`
  }

  get(key: string): string | null {
    return this.strings.get(key) ?? null
  }

  /** INCRBY of a 64-bit integer as text; `by` may be negative. Returns the sum. */
  add(key: string, by: bigint): bigint {
    const sum = BigInt(this.strings.get(key) ?? '0') + by
    if (sum >= 2n ** 63n || sum < -(2n ** 63n)) throw new Error('increment or decrement would overflow')
    this.strings.set(key, String(sum))
    return sum
  }

  hash(key: string): Map<string, string> {
    return child(this.hashes, key, () => new Map<string, string>())
  }

  sortedSet(key: string): Map<string, number> {
    return child(this.sortedSets, key, () => new Map<string, number>())
  }

  set(key: string): Set<string> {
    return child(this.sets, key, () => new Set<string>())
  }
}

function child<T>(parent: Map<string, T>, key: string, create: () => T): T {
  let value = parent.get(key)
  if (value === undefined) {
    value = create()
    parent.set(key, value)
  }
  return value
}
