import { Redis } from 'ioredis'
import { Client } from 'pg'
import { startRedisMonitor } from '../../helpers/redis-monitor.ts'
import { type Bench, putLoad, type Shape, sampler } from '../bench-run.ts'
import type { Sample } from '../samples.ts'
import { type GatewayTarget, isGateway } from '../targets/target.ts'

const CALLER_LEVELS = [1, 128]
const LOAD = { durationMs: 2_000, warmUpMs: 0 }
/** Everything before settlement runs in processes of these names. */
const BEFORE_SETTLEMENT = ['shuntyard-api', 'shuntyard-dispatch']
const BYTES_PER_KB = 1_000

/**
 * What a call asks of Redis, settlement included, and whether PostgreSQL is asked anything before settlement. Commands
 * are counted in a run of their own, because watching them slows Redis down.
 */
export async function measureRedisUse(bench: Bench): Promise<Sample[]> {
  const samples: Sample[] = []
  for (const callers of CALLER_LEVELS) {
    for (const target of bench.targets.filter(isGateway)) {
      const name = `Redis a call, ${callers} caller${callers === 1 ? '' : 's'}`
      const shape: Shape = { ...LOAD, load: { kind: 'callers', callers } }
      const putIt = async () => (await putLoad(bench, target, 'plain', shape)).callsInAll
      samples.push(...(await readServerTime(target, name, putIt)))
      samples.push(...(await countCommands(target, name, putIt)))
    }
  }
  for (const target of bench.targets.filter(isGateway)) {
    const putIt = () => putLoad(bench, target, 'plain', { ...LOAD, load: { kind: 'callers', callers: 1 } })
    const statements = await countStatements(target, putIt)
    samples.push(sampler(target)('PostgreSQL statements before settlement', '', statements))
  }
  return samples
}

/** Redis's own account of its time in scripts and of the bytes of its connections. */
async function readServerTime(
  target: GatewayTarget,
  name: string,
  makeCalls: () => Promise<number>,
): Promise<Sample[]> {
  const redis = new Redis(target.gateway.redisTcpUrl)
  const read = async () => {
    const info = `${await redis.info('commandstats')}\n${await redis.info('stats')}`
    const sum = (pattern: RegExp) =>
      [...info.matchAll(pattern)].reduce((total, match) => total + Number(match[1]), 0)
    return {
      scriptMicros: sum(/^cmdstat_(?:evalsha|eval|fcall)(?:_ro)?:calls=\d+,usec=(\d+)/gm),
      bytes: sum(/^total_net_(?:in|out)put_bytes:(\d+)/gm),
    }
  }
  try {
    const before = await read()
    const calls = await makeCalls()
    const after = await read()
    const sampleFor = sampler(target)
    return [
      sampleFor(`${name}: time in scripts`, 'µs', (after.scriptMicros - before.scriptMicros) / calls),
      sampleFor(`${name}: bytes`, 'kB', (after.bytes - before.bytes) / BYTES_PER_KB / calls),
    ]
  } finally {
    redis.disconnect()
  }
}

async function countCommands(
  target: GatewayTarget,
  name: string,
  makeCalls: () => Promise<number>,
): Promise<Sample[]> {
  const monitor = await startRedisMonitor(target.gateway.redisTcpUrl)
  const calls = await makeCalls()
  const { scripts, others, insideScripts } = await monitor.stop()
  const sampleFor = sampler(target)
  return [
    sampleFor(`${name}: script runs`, '', scripts / calls),
    sampleFor(`${name}: commands inside them`, '', insideScripts / calls),
    sampleFor(`${name}: other commands`, '', others / calls),
  ]
}

/** Connections of API and dispatch processes on which PostgreSQL ran a statement meanwhile. */
async function countStatements(
  { gateway }: GatewayTarget,
  makeCalls: () => Promise<unknown>,
): Promise<number> {
  const postgres = new Client({
    connectionString: gateway.databaseUrl,
    application_name: 'shuntyard-bench',
  })
  await postgres.connect()
  try {
    const before = await lastStatements(postgres)
    await makeCalls()
    const after = await lastStatements(postgres)
    return [...after].filter(([pid, at]) => before.get(pid) !== at).length
  } finally {
    await postgres.end()
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
