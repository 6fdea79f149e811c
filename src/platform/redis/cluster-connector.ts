import { connect as connectTcp } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { AbstractConnector, Redis as Client } from 'ioredis'
import type { RedisAddress, RedisHost } from '../../core/kernel/redis-address.ts'

type ClusterAddress = Extract<RedisAddress, { kind: 'cluster' }>

const RETRY_MS = 100
const DISCONNECT_MS = 2_000
/** How long one node may take to say which node has a slot. */
const ASK_MS = 1_000

/**
 * Makes a connector for ioredis that leads to the node of a cluster that has the slot of `key`, whichever it is at the
 * time of each connection. So a client of one shard is a plain connection: a fail-over and a slot that moves are
 * reconnections.
 */
export function clusterConnector(address: ClusterAddress, key: string) {
  /** The nodes to ask: the given ones, then all that were found. The last one that answered is first. */
  let nodes: RedisHost[] = address.hosts
  return class ClusterConnector extends AbstractConnector {
    constructor() {
      super(DISCONNECT_MS)
    }

    async connect(emit: (type: string, error: Error) => void) {
      this.connecting = true
      for (;;) {
        const owner = await this.findOwner(emit)
        if (!this.connecting) throw new Error('Connection is closed.')
        if (owner === null) {
          await delay(RETRY_MS)
          continue
        }
        const stream = address.tls ? connectTls({ ...owner }) : connectTcp({ ...owner })
        stream.once('error', (error) => {
          this.firstError = error
        })
        this.stream = stream
        return stream
      }
    }

    /** Asks one node after another. A node that is cut off may give an old answer, so each attempt begins with the next one. */
    private async findOwner(emit: (type: string, error: Error) => void): Promise<RedisHost | null> {
      const [first, ...others] = nodes
      if (first) nodes = [...others, first]
      for (const node of [...nodes]) {
        if (!this.connecting) return null
        try {
          const found = await askOwner(node, key, address)
          nodes = [...found.nodes, ...address.hosts.filter((host) => !found.nodes.some(isSame(host)))]
          return found.owner
        } catch (error) {
          emit('error', error as Error)
        }
      }
      return null
    }
  }
}

const isSame = (one: RedisHost) => (other: RedisHost) => one.host === other.host && one.port === other.port

type Node = readonly [host: string | null, port: number, ...more: unknown[]]

/** Asks a node which node has the slot of a key, and for all primaries and replicas. */
async function askOwner(node: RedisHost, key: string, { username, password, tls }: ClusterAddress) {
  const client = new Client({
    ...node,
    ...(username && { username }),
    ...(password && { password }),
    ...(tls && { tls: {} }),
    retryStrategy: () => null,
    enableReadyCheck: false,
    connectTimeout: ASK_MS,
    commandTimeout: ASK_MS,
    connectionName: 'shuntyard-cluster',
  })
  // The command below reports the same.
  client.on('error', () => undefined)
  try {
    const [slot, ranges] = await Promise.all([client.cluster('KEYSLOT', key), client.cluster('SLOTS')])
    const hostOf = ([host, port]: Node): RedisHost => ({ host: host || node.host, port })
    const range = ranges.find(([from, to]) => from <= slot && slot <= to)
    const nodes = ranges.flatMap(([, , ...members]) => members.map(hostOf))
    return { owner: range?.[2] ? hostOf(range[2]) : null, nodes }
  } finally {
    client.disconnect()
  }
}
