import { connect } from 'node:net'
import { Client } from 'pg'

/** What one call asks of Redis and PostgreSQL, on the average over some calls. */
export interface HotPathCounts {
  calls: number
  /** Commands that clients sent, all processes and settlement included; one round trip each at most. */
  redisCommandsPerCall: number
  /** Those of them that run a script. */
  redisScriptsPerCall: number
  /** Commands by name, the most frequent first, each per call. */
  redisCommands: Array<{ command: string; perCall: number }>
  /** Connections of API and dispatch processes on which PostgreSQL ran a statement meanwhile. */
  postgresStatementsBeforeSettlement: number
}

const SCRIPT_COMMANDS = new Set(['eval', 'evalsha', 'fcall', 'evalsha_ro', 'eval_ro', 'fcall_ro'])
/** Everything before settlement runs in processes of these names. */
const BEFORE_SETTLEMENT = ['switchyard-api', 'switchyard-dispatch']

/** Watches both servers while `makeCalls` runs and counts. */
export async function countHotPath(
  servers: { redisTcpUrl: string; databaseUrl: string },
  makeCalls: () => Promise<number>,
): Promise<HotPathCounts> {
  const postgres = new Client({ connectionString: servers.databaseUrl, application_name: 'switchyard-bench' })
  await postgres.connect()
  const monitor = await startRedisMonitor(servers.redisTcpUrl)
  const before = await lastStatements(postgres)
  const calls = await makeCalls()
  const after = await lastStatements(postgres)
  const counts = monitor.stop()
  await postgres.end()

  const total = [...counts.values()].reduce((sum, count) => sum + count, 0)
  const scripts = [...counts].filter(([command]) => SCRIPT_COMMANDS.has(command))
  return {
    calls,
    redisCommandsPerCall: total / calls,
    redisScriptsPerCall: scripts.reduce((sum, [, count]) => sum + count, 0) / calls,
    redisCommands: [...counts]
      .sort(([, a], [, b]) => b - a)
      .map(([command, count]) => ({ command, perCall: count / calls })),
    postgresStatementsBeforeSettlement: [...after].filter(([pid, at]) => before.get(pid) !== at).length,
  }
}

/** When each connection of the processes before settlement last began a statement. */
async function lastStatements(postgres: Client): Promise<Map<number, string>> {
  const { rows } = await postgres.query<{ pid: number; at: string }>(
    'select pid, query_start::text as at from pg_stat_activity where application_name = any($1)',
    [BEFORE_SETTLEMENT],
  )
  return new Map(rows.map(({ pid, at }) => [pid, at]))
}

interface RedisMonitor {
  /** Ends watching and returns how often each command was sent by a client. */
  stop(): Map<string, number>
}

/** MONITOR over a bare socket: one line a command, those that scripts run marked as Lua's. */
async function startRedisMonitor(url: string): Promise<RedisMonitor> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) })
  const counts = new Map<string, number>()
  let rest = ''
  const started = new Promise<void>((resolve, reject) => {
    socket.once('error', reject)
    socket.on('data', (chunk) => {
      const lines = (rest + chunk.toString('latin1')).split('\r\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        if (line === '+OK') resolve()
        const match = /^\+\d+\.\d+ \[\d+ ([^\]]+)\] "([^"]+)"/.exec(line)
        if (!match || match[1] === 'lua') continue
        const command = match[2]!.toLowerCase()
        counts.set(command, (counts.get(command) ?? 0) + 1)
      }
    })
  })
  socket.write('MONITOR\r\n')
  await started
  return {
    stop() {
      socket.destroy()
      return counts
    },
  }
}
