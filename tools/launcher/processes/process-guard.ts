import { spawn } from 'node:child_process'

/** `sessions` end first (they use the services), `services` after them. */
export type GuardRank = 'sessions' | 'services'

/** Ends the processes that this one has started when it is killed by SIGKILL. */
export type ProcessGuard = ReturnType<typeof startProcessGuard>

/**
 * Reads two lists of pids, as they are at the moment, until its input closes: then we are gone. The sessions
 * get SIGTERM, and SIGKILL after 10 s; the services SIGINT, which both PostgreSQL and Redis take as a quick
 * but clean shutdown. A shell, because it costs a megabyte where a Node would cost forty.
 */
const SCRIPT = `
  while read -r first second; do sessions=$first; services=$second; done
  signal() { for pid in $(echo "$2" | tr ',-' '  '); do kill "-$1" "$pid" 2>/dev/null; done; }
  running() { for pid in $(echo "$1" | tr ',-' '  '); do kill -0 "$pid" 2>/dev/null && return 0; done; return 1; }
  signal TERM "$sessions"
  count=0
  while running "$sessions" && [ $count -lt 50 ]; do sleep 0.2; count=$((count + 1)); done
  signal KILL "$sessions"
  signal INT "$services"
`

/** Starts a guard for this process. */
export function startProcessGuard() {
  const guarded = new Map<number, GuardRank>()
  const shell = spawn('sh', ['-c', SCRIPT], { cwd: '/', detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  // It must not keep us alive, nor end us: without it only the unclean end is less tidy.
  shell.unref()
  ;(shell.stdin as unknown as { unref(): void }).unref()
  shell.on('error', () => undefined)
  shell.stdin.on('error', () => undefined)
  const pidsOf = (rank: GuardRank) =>
    [...guarded]
      .filter(([, of]) => of === rank)
      .map(([pid]) => pid)
      .join(',') || '-'
  const update = () => shell.stdin.write(`${pidsOf('sessions')} ${pidsOf('services')}\n`)
  return {
    add(pid: number, rank: GuardRank): void {
      guarded.set(pid, rank)
      update()
    },
    remove(pid: number): void {
      if (guarded.delete(pid)) update()
    },
    /** Ends the guard itself and leaves the processes alone. */
    close(): void {
      guarded.clear()
      update()
      shell.stdin.end()
    },
  }
}
