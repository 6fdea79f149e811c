import { readdir, readFile } from 'node:fs/promises'

export interface ProcessUsage {
  /** Resident memory; pages that processes share count in each. */
  memoryBytes: number
  /** Processor time since the process began, user and system. */
  cpuMs: number
}

const TICK_MS = 10
const PAGE_BYTES = 4096

/** Reads memory and processor time of processes from /proc, by process id, their children's included. */
export async function readProcessUsage(
  pids: readonly number[],
  { children = true } = {},
): Promise<Map<number, ProcessUsage>> {
  const names = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const all = (await Promise.all(names.map(readStat))).filter((stat) => stat !== null)
  return new Map(
    pids.map((pid) => {
      const family = all.filter((stat) => stat.pid === pid || (children && stat.parent === pid))
      return [
        pid,
        {
          memoryBytes: family.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0),
          // Children that have ended are in their parent's account.
          cpuMs: family.reduce(
            (sum, { cpuMs, endedChildrenMs }) => sum + cpuMs + (children ? endedChildrenMs : 0),
            0,
          ),
        },
      ]
    }),
  )
}

/** Processor time of the whole machine since it began, all processors together, idle time left out. */
export async function readMachineBusyMs(): Promise<number> {
  const [first = ''] = (await readFile('/proc/stat', 'utf8')).split('\n')
  const [user = 0, nice = 0, system = 0, , , interrupts = 0, softInterrupts = 0, stolen = 0] = first
    .split(/\s+/)
    .slice(1)
    .map(Number)
  return (user + nice + system + interrupts + softInterrupts + stolen) * TICK_MS
}

async function readStat(name: string) {
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
