import { StartError } from '../../core/kernel/errors.ts'
import { parseRedisUrl } from '../../core/kernel/redis-address.ts'
import { checkRedisSettings, type Redis, serversOf } from '../../platform/redis/redis.ts'
import { refuseOtherShards } from '../../platform/redis/redis-epoch.ts'
import { readinessKey } from '../../platform/redis/redis-keys.ts'
import { type Check, clockFindings, type Finding, findings, measureAheadMs, warning, wrong } from './check.ts'

const VERSION_MIN = [6, 2] as const
const FULL = 0.8
const MARK_LIFETIME_MS = 60_000

/** The servers of all shards, with the words that name one. */
const namedServers = (redis: Redis) => {
  const servers = serversOf(redis)
  return servers.map(({ shard, client }) => ({
    ...{ shard, client },
    server: servers.length === 1 ? 'Redis' : `Redis of shard ${shard}`,
  }))
}

const onEach = async (
  redis: Redis,
  run: (server: ReturnType<typeof namedServers>[number]) => Promise<Finding[]>,
): Promise<Finding[]> => (await Promise.all(namedServers(redis).map(run))).flat()

export const REDIS_CHECKS: Check[] = [
  {
    name: 'redis settings',
    async run({ redis }) {
      const warnings: string[] = []
      try {
        await checkRedisSettings(redis, { warn: (message) => void warnings.push(message) })
        await refuseOtherShards(redis)
      } catch (error) {
        if (!(error instanceof StartError)) throw error
        return [wrong(error.message, 'the processes do not start', mendOf(error.message))]
      }
      return findings(
        warnings.map((message) =>
          warning(
            message,
            'calls of the last seconds before a crash may stay uncharged',
            'redis-cli CONFIG SET appendonly yes',
          ),
        ),
        'no eviction, an append-only file, and the shards of this installation',
      )
    },
  },
  {
    name: 'redis server',
    run: ({ redis }) => onEach(redis, ({ server, client }) => serverFindings(server, client)),
  },
  {
    name: 'redis rights',
    run: ({ redis, config }) =>
      onEach(redis, async ({ shard, server, client }) => {
        try {
          await client.set(readinessKey('doctor', shard), '1', 'PX', MARK_LIFETIME_MS)
          await client.eval('return redis.call("TTL", KEYS[1])', 1, readinessKey('doctor', shard))
          await client.publish(readinessKey('doctor', shard), '')
        } catch (error) {
          const { message } = error as Error
          return [wrong(`${server} refuses commands: ${message}`, 'no call is admitted', rightsMend(message))]
        }
        return findings(
          [
            isOpen(config.redisUrl) &&
              warning(
                `${server} asks for no password and is not on this host`,
                'everyone who reaches it can change balances',
                'set requirepass or an ACL user, and put it into REDIS_URL',
              ),
          ],
          `${server} accepts writes, scripts and messages`,
        )
      }),
  },
  {
    name: 'redis clock',
    run: ({ redis }) =>
      onEach(redis, async ({ server, client }) => {
        // The first command also opens the connection, which would count as a part of the difference.
        await client.ping()
        return clockFindings(
          server,
          await measureAheadMs(async () => {
            const [seconds, microseconds] = await client.time()
            return Number(seconds) * 1_000 + Number(microseconds) / 1_000
          }),
        )
      }),
  },
]

const mendOf = (message: string): string =>
  message.includes('maxmemory-policy')
    ? 'redis-cli CONFIG SET maxmemory-policy noeviction, and the same in redis.conf'
    : 'correct REDIS_URL or REDIS_SHARDS'

const rightsMend = (message: string): string =>
  message.includes('NOPERM')
    ? 'redis-cli ACL SETUSER NAME on ~* &* +@all -@dangerous +info +client'
    : 'redis-cli INFO: look at maxmemory, the role and the last save'

async function serverFindings(server: string, client: Redis): Promise<Finding[]> {
  const info = await client.info()
  const field = (name: string): string => new RegExp(`^${name}:(\\S*)`, 'm').exec(info)?.[1] ?? ''
  const [version, maxMemory, used] = [
    field('redis_version'),
    Number(field('maxmemory')),
    Number(field('used_memory')),
  ]
  const [connected, maxClients] = [Number(field('connected_clients')), Number(field('maxclients'))]
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isOld = major < VERSION_MIN[0] || (major === VERSION_MIN[0] && minor < VERSION_MIN[1])
  return findings(
    [
      isOld &&
        wrong(
          `${server} is version ${version}`,
          'its scripts and commands fail',
          `upgrade it to ${VERSION_MIN.join('.')} or newer`,
        ),
      field('role') !== 'master' &&
        wrong(`${server} is a ${field('role')}`, 'no call is admitted', 'let REDIS_URL name the primary'),
      maxMemory === 0 &&
        warning(
          `${server} has no maxmemory`,
          'without a limit the system may kill it, which is worse than a refused write',
          'redis-cli CONFIG SET maxmemory 2gb',
        ),
      maxMemory > 0 &&
        used > FULL * maxMemory &&
        warning(
          `${server} uses ${Math.round((100 * used) / maxMemory)} % of its maxmemory`,
          'calls are refused with 503 when it is full',
          `redis-cli CONFIG SET maxmemory ${2 * maxMemory}`,
        ),
      maxClients > 0 &&
        connected > FULL * maxClients &&
        warning(
          `${server} has ${connected} of ${maxClients} connections`,
          'further processes cannot connect',
          `redis-cli CONFIG SET maxclients ${2 * maxClients}`,
        ),
    ],
    `${server} is version ${version}, ${connected} connections`,
  )
}

/** Whether an address has no password and leads to another host. */
function isOpen(redisUrl: string): boolean {
  const address = parseRedisUrl(redisUrl)
  if (address.kind === 'sentinel' || address.kind === 'cluster') return address.password === undefined
  const urls = address.kind === 'server' ? [address.url] : address.urls
  return urls
    .filter((url) => !url.startsWith('unix:'))
    .map((url) => new URL(url))
    .some(({ hostname, password }) => password === '' && !/^(localhost|127\.|\[::1\])/.test(hostname))
}
