import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Redis as Client } from 'ioredis'
import { freePort } from '../../tools/launcher/ports.ts'
import { startProcessGuard } from '../../tools/launcher/processes/process-guard.ts'
import { type RunningProcess, spawnPlan } from '../../tools/launcher/processes/spawn-plan.ts'
import type { RedisProgram } from '../../tools/launcher/services/redis-program.ts'
import { eventually } from './eventually.ts'
import { clockAhead } from './fake-time.ts'

/** One server of a group. */
export interface RedisMember {
  port: number
  client: Client
  /** `kill -9`. */
  kill(): Promise<void>
  /** Starts it again, over its data. */
  restart(): Promise<void>
  /** Stops it without a word: its connections stay open. */
  pause(): void
  resume(): void
}

const STARTS_WITHIN_MS = 30_000
const NODE_TIMEOUT_MS = 2_000
const ONE_SECOND_FSYNC = ['appendonly yes', 'appendfsync everysec', 'save ""', 'maxmemory-policy noeviction']
const SLOTS = 16_384

/** Of a server at `localhost` and 127.0.0.1, signed by itself, from 2020 to 2120. */
const TLS_FILES = join(import.meta.dirname, '../fixtures/tls')
export const TEST_CERTIFICATE = readFileSync(join(TLS_FILES, 'certificate.pem'), 'utf8')
const TLS_SETTINGS = [
  `tls-cert-file "${join(TLS_FILES, 'certificate.pem')}"`,
  `tls-key-file "${join(TLS_FILES, 'key.pem')}"`,
  `tls-ca-cert-file "${join(TLS_FILES, 'certificate.pem')}"`,
  'tls-auth-clients no',
  'tls-replication yes',
  'tls-cluster yes',
]

interface Servers {
  /** The settings of each. */
  settings: ReadonlyArray<readonly string[]>
  args?: string[]
  /** How the test signs in. */
  signIn?: { username: string; password: string }
  /** Whether they take connections by TLS, and no others. */
  isTls?: boolean
  /** What is added to the environment of each. */
  environments?: ReadonlyArray<Record<string, string>>
}

/** Starts servers on loopback ports. */
async function startServers({ settings, args = [], signIn, isTls = false, environments }: Servers) {
  const program = JSON.parse(process.env.TEST_REDIS_PROGRAM!) as RedisProgram
  if (program.kind !== 'binary')
    throw new Error('a group of Redis servers needs a redis-server on this machine')
  const folder = await mkdtemp(join(tmpdir(), 'shuntyard-redis-group-'))
  const guard = startProcessGuard()
  const running: RunningProcess[] = []
  const members = await Promise.all(
    settings.map(async (lines, index): Promise<RedisMember> => {
      const port = await freePort()
      const dir = join(folder, String(port))
      await mkdir(dir)
      const config = join(dir, 'redis.conf')
      const ports = isTls ? ['port 0', `tls-port ${port}`, ...TLS_SETTINGS] : [`port ${port}`]
      const common = ['bind 127.0.0.1', ...ports, `dir "${dir}"`, 'protected-mode no', 'daemonize no']
      await writeFile(config, [...common, ...lines, ''].join('\n'))
      const client = new Client({
        ...signIn,
        port,
        ...(isTls && { tls: { ca: TEST_CERTIFICATE } }),
        maxRetriesPerRequest: 0,
        retryStrategy: () => 50,
      })
      client.on('error', () => undefined)
      const start = async () => {
        const server = await spawnPlan(
          {
            name: `redis-${port}`,
            command: program.command,
            args: [config, ...args],
            cwd: dir,
            env: {
              PATH: process.env.PATH,
              ...(program.libraryPath && { LD_LIBRARY_PATH: program.libraryPath }),
              ...environments?.[index],
            },
            stopSignal: 'SIGTERM',
            stopTimeoutMs: 5_000,
            readyTimeoutMs: STARTS_WITHIN_MS,
            probe: async () => void (await client.ping()),
          },
          { onSpawn: (pid) => guard.add(pid, 'services') },
        )
        running.push(server)
        return server
      }
      let server = await start()
      return {
        port,
        client,
        async kill() {
          await server.kill()
          guard.remove(server.pid)
        },
        async restart() {
          server = await start()
        },
        pause: () => void process.kill(server.pid, 'SIGSTOP'),
        resume: () => void process.kill(server.pid, 'SIGCONT'),
      }
    }),
  )
  const close = async () => {
    for (const { client } of members) client.disconnect()
    await Promise.all(running.map((server) => server.kill()))
    guard.close()
    await rm(folder, { recursive: true, force: true })
  }
  return { members, close }
}

/** A user of the gateway's own, whom nothing but the ACL lets in, and one for replicas and Sentinels. */
const USERS = ['user default off', 'user gateway on >secret ~* &* +@all', 'user ops on >ops ~* &* +@all']
const OPS = { username: 'ops', password: 'ops' }

/** A primary, a replica and three Sentinels, with ACL users. */
export async function startSentinelGroup() {
  const settings = [
    ...ONE_SECOND_FSYNC,
    ...USERS,
    'masteruser ops',
    'masterauth ops',
    'repl-diskless-sync-delay 0',
  ]
  const data = await startServers({ settings: [settings, settings], signIn: OPS })
  const [primary, replica] = data.members as [RedisMember, RedisMember]
  await replica.client.replicaof('127.0.0.1', primary.port)
  const watch = [
    `sentinel monitor main 127.0.0.1 ${primary.port} 2`,
    ...['sentinel auth-user main ops', 'sentinel auth-pass main ops'],
    `sentinel down-after-milliseconds main ${NODE_TIMEOUT_MS}`,
    'sentinel failover-timeout main 10000',
  ]
  const sentinels = await startServers({ settings: [watch, watch, watch], args: ['--sentinel'] })
  await eventually(async () => {
    if (!/master_link_status:up/.test(await replica.client.info('replication'))) throw new Error('not yet')
    for (const { client } of sentinels.members) {
      const [state] = (await client.call('SENTINEL', 'MASTERS')) as string[][]
      const field = (name: string) => state![state!.indexOf(name) + 1]
      if (field('num-slaves') !== '1' || field('num-other-sentinels') !== '2') throw new Error('not yet')
    }
  })
  const hosts = sentinels.members.map(({ port }) => `127.0.0.1:${port}`).join(',')
  return {
    url: `redis+sentinel://gateway:secret@${hosts}/?name=main`,
    members: data.members,
    primary,
    replica,
    sentinels: sentinels.members,
    /** Cuts the replica off: it learns nothing more of the primary. */
    async stopReplication() {
      await replica.client.config('SET', 'masterauth', 'wrong')
      await primary.client.call('CLIENT', 'KILL', 'TYPE', 'replica')
    },
    /** Undoes that. */
    async resumeReplication() {
      await replica.client.config('SET', 'masterauth', OPS.password)
    },
    /** Until the former primary, started again, is a replica that Sentinels know. */
    untilReplicated: () =>
      eventually(async () => {
        const state = await primary.client.info('replication')
        if (!state.includes('role:slave') || !state.includes('master_link_status:up'))
          throw new Error('not yet')
      }),
    async close() {
      await sentinels.close()
      await data.close()
    },
  }
}

/** A primary, and replicas of it whose clocks are ahead by so many seconds each. */
export async function startClocks(aheadSeconds: readonly number[]) {
  const { members, close } = await startServers({
    settings: [0, ...aheadSeconds].map(() => [...ONE_SECOND_FSYNC, 'repl-diskless-sync-delay 0']),
    environments: [{}, ...(await Promise.all(aheadSeconds.map(clockAhead)))],
  })
  // Each replicates the one before it, which is the primary when it takes over.
  for (const [index, { client }] of members.entries()) {
    if (index > 0) await client.replicaof('127.0.0.1', members[index - 1]!.port)
  }
  await eventually(async () => {
    for (const { client } of members.slice(1))
      if (!/master_link_status:up/.test(await client.info('replication'))) throw new Error('not yet')
  })
  return { members, close }
}

/** A server, a Sentinel of it, and a cluster of one node, which take TLS alone, with ACL users. */
export async function startTlsServers() {
  const settings = [...ONE_SECOND_FSYNC, ...USERS]
  const node = [...settings, 'cluster-enabled yes', `cluster-port ${await freePort()}`]
  const data = await startServers({ settings: [settings, node], signIn: OPS, isTls: true })
  const [server, cluster] = data.members as [RedisMember, RedisMember]
  await cluster.client.call('CLUSTER', 'ADDSLOTSRANGE', 0, SLOTS - 1)
  const watch = [
    `sentinel monitor main 127.0.0.1 ${server.port} 1`,
    ...['sentinel auth-user main ops', 'sentinel auth-pass main ops'],
  ]
  const sentinels = await startServers({ settings: [watch], args: ['--sentinel'], isTls: true })
  await eventually(async () => {
    if (!/cluster_state:ok/.test(String(await cluster.client.cluster('INFO')))) throw new Error('not yet')
  })
  const addressOf = ({ port }: RedisMember) => `gateway:secret@127.0.0.1:${port}`
  return {
    server: `rediss://${addressOf(server)}`,
    plain: `redis://${addressOf(server)}`,
    sentinel: `rediss+sentinel://${addressOf(sentinels.members[0]!)}/?name=main`,
    cluster: `rediss+cluster://${addressOf(cluster)}`,
    async close() {
      await sentinels.close()
      await data.close()
    },
  }
}

/** A cluster of three primaries, each with a replica. */
export async function startCluster() {
  const settings = await Promise.all(
    Array.from({ length: 6 }, async () => [
      ...ONE_SECOND_FSYNC,
      ...[
        'cluster-enabled yes',
        `cluster-node-timeout ${NODE_TIMEOUT_MS}`,
        `cluster-port ${await freePort()}`,
      ],
      ...['cluster-allow-replica-migration no', 'repl-diskless-sync-delay 0'],
    ]),
  )
  const { members, close } = await startServers({ settings })
  const [first, ...others] = members as [RedisMember, ...RedisMember[]]
  for (const { port, client } of others) {
    const [, busPort] = (await client.config('GET', 'cluster-port')) as [string, string]
    await first.client.call('CLUSTER', 'MEET', '127.0.0.1', port, busPort)
  }
  const ids = await Promise.all(members.map(async ({ client }) => String(await client.cluster('MYID'))))
  for (const [index, { client }] of members.slice(0, 3).entries()) {
    const [from, to] = [Math.floor((index * SLOTS) / 3), Math.floor(((index + 1) * SLOTS) / 3) - 1]
    await client.call('CLUSTER', 'ADDSLOTSRANGE', from, to)
  }
  for (const [index, { client }] of members.slice(3).entries()) {
    await eventually(() => client.cluster('REPLICATE', ids[index]!))
  }
  await eventually(async () => {
    for (const { client } of members) {
      const state = String(await client.cluster('INFO'))
      const nodes = String(await client.cluster('NODES'))
      const isReady = /cluster_state:ok/.test(state) && (nodes.match(/\bslave\b/g) ?? []).length === 3
      if (!isReady) throw new Error('not yet')
    }
    for (const { client } of members.slice(3)) {
      if (!/master_link_status:up/.test(await client.info('replication'))) throw new Error('not yet')
    }
  })
  return {
    url: `redis+cluster://${members.map(({ port }) => `127.0.0.1:${port}`).join(',')}`,
    members,
    /**
     * Moves the slot of a key with its data from the node at a port to another primary, as `redis-cli --cluster` does.
     * @param lastsMs how long calls find a part of the keys at each node, at least
     */
    async moveSlot(key: string, fromPort: number, lastsMs = 0) {
      const nodes = await primariesOf(members)
      const from = nodes.find(({ port }) => port === fromPort)!
      const to = nodes.find(({ port }) => port !== fromPort)!
      const slot = Number(await from.client.cluster('KEYSLOT', key))
      // Refused while a node has not learned of a fail-over.
      await eventually(() => to.client.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', from.id))
      await eventually(() => from.client.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', to.id))
      const untilMs = Date.now() + lastsMs
      for (;;) {
        const keys = (await from.client.cluster('GETKEYSINSLOT', slot, 20)) as string[]
        if (keys.length === 0) break
        await from.client.call('MIGRATE', '127.0.0.1', to.port, '', 0, 5_000, 'KEYS', ...keys)
        await delay(Math.max(0, untilMs - Date.now()))
      }
      for (const { client } of [to, from]) await client.call('CLUSTER', 'SETSLOT', slot, 'NODE', to.id)
    },
    /** Has the replica of the primary at a port take over; the primary goes on as its replica. */
    async failOver(port: number) {
      const isReplica = new RegExp(`role:slave[^]*master_port:${port}\\r`)
      for (const { client } of members) {
        if (!isReplica.test(await client.info('replication').catch(() => ''))) continue
        await client.cluster('FAILOVER')
        return eventually(async () => {
          if (!/role:master/.test(await client.info('replication'))) throw new Error('not yet')
        })
      }
      throw new Error(`the primary at ${port} has no replica`)
    },
    close,
  }
}

/** The members that run and are primaries. */
async function primariesOf(members: readonly RedisMember[]) {
  const found = await Promise.all(
    members.map(async ({ client, port }) => {
      const role = await client.info('replication').catch(() => '')
      if (!role.includes('role:master')) return null
      return { client, port, id: String(await client.cluster('MYID')) }
    }),
  )
  return found.filter((node) => node !== null)
}
