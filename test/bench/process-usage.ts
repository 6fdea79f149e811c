import { readdir, readFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'

export interface ProcessUsage {
  /** Resident memory; pages that processes share count in each. */
  memoryBytes: number
  /** Processor time since the process began, user and system. */
  cpuMs: number
}

const TICK_MS = 10
const PAGE_BYTES = 4096

/**
 * Reads memory and processor time of processes from /proc, those of their descendants included. Throws when one has
 * ended.
 */
export async function readProcessUsage(pids: readonly number[]): Promise<Map<number, ProcessUsage>> {
  const names = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const all = (await Promise.all(names.map(readStat))).filter((stat) => stat !== null)
  const childrenOf = Map.groupBy(all, ({ parent }) => parent)
  const familyOf = (pid: number): ProcessStat[] =>
    (childrenOf.get(pid) ?? []).flatMap((child) => [child, ...familyOf(child.pid)])
  return new Map(
    pids.map((pid) => {
      const own = all.find((stat) => stat.pid === pid)
      if (!own) throw new Error(`process ${pid} has ended`)
      const family = [own, ...familyOf(pid)]
      return [
        pid,
        {
          memoryBytes: family.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0),
          // Children that have ended are in their parent's account.
          cpuMs: family.reduce((sum, { cpuMs, endedChildrenMs }) => sum + cpuMs + endedChildrenMs, 0),
        },
      ]
    }),
  )
}

/** Processor time that named processes take while something runs. */
export async function measureCpuTime<T>(
  processes: readonly (readonly [name: string, pid: number])[],
  run: () => Promise<T>,
): Promise<{ result: T; cpuMs: Map<string, number> }> {
  const pids = processes.map(([, pid]) => pid)
  const before = await readProcessUsage(pids)
  const result = await run()
  const after = await readProcessUsage(pids)
  const taken = (pid: number) => after.get(pid)!.cpuMs - before.get(pid)!.cpuMs
  return { result, cpuMs: new Map(processes.map(([name, pid]) => [name, taken(pid)])) }
}

/**
 * Share of the machine's processors, 0 to 1, that processes other than `pids` took while something ran. A bench on a
 * busy machine measures the machine.
 */
export async function shareOfOthers<T>(
  pids: readonly number[],
  run: () => Promise<T>,
): Promise<{ result: T; others: number }> {
  const busyBefore = await readMachineBusyMs()
  const startedAt = performance.now()
  const { result, cpuMs } = await measureCpuTime(
    pids.map((pid) => [String(pid), pid]),
    run,
  )
  const capacityMs = (performance.now() - startedAt) * availableParallelism()
  const ownMs = [...cpuMs.values()].reduce((sum, ms) => sum + ms, 0)
  return { result, others: Math.max(0, ((await readMachineBusyMs()) - busyBefore - ownMs) / capacityMs) }
}

/** Processor time of the whole machine since it began, all processors together, idle time left out. */
async function readMachineBusyMs(): Promise<number> {
  const [first = ''] = (await readFile('/proc/stat', 'utf8')).split('\n')
  const [user = 0, nice = 0, system = 0, , , interrupts = 0, softInterrupts = 0, stolen = 0] = first
    .split(/\s+/)
    .slice(1)
    .map(Number)
  return (user + nice + system + interrupts + softInterrupts + stolen) * TICK_MS
}

interface ProcessStat extends ProcessUsage {
  pid: number
  parent: number
  endedChildrenMs: number
}

async function readStat(name: string): Promise<ProcessStat | null> {
  let stat: string
  try {
    stat = await readFile(`/proc/${name}/stat`, 'utf8')
  } catch (error) {
    // Processes end while they are read.
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return null
    throw error
  }
  // The name may hold anything but ends with the last parenthesis; the other fields are counted from there.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return {
    pid: Number(name),
    parent: Number(fields[1]),
    memoryBytes: Number(fields[21]) * PAGE_BYTES,
    cpuMs: (Number(fields[11]) + Number(fields[12])) * TICK_MS,
    endedChildrenMs: (Number(fields[13]) + Number(fields[14])) * TICK_MS,
  }
}
