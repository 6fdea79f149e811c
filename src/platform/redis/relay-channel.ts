import type { Redis } from './redis.ts'

/**
 * Channels over which workers relay frames to API instances. In a cluster they are sharded: a message stays with the
 * node of its shard, and that node knows how many subscribers it has.
 */

/** Publishes a message; resolves to the number of subscribers. */
export const publishTo = (
  redis: Pick<Redis, 'publish' | 'spublish' | 'isInCluster'>,
  channel: string,
  message: string,
): Promise<number> =>
  redis.isInCluster ? (redis.spublish(channel, message) as Promise<number>) : redis.publish(channel, message)

/** The number of subscribers of a channel. */
export async function countSubscribers(
  redis: Pick<Redis, 'pubsub' | 'isInCluster'>,
  channel: string,
): Promise<number> {
  const counts = await (redis.isInCluster
    ? redis.pubsub('SHARDNUMSUB', channel)
    : redis.pubsub('NUMSUB', channel))
  return Number((counts as [string, number])[1])
}

/** A script over relay channels as the server needs it; it is written for channels that are not sharded. */
export const forRelayChannels = ({ isInCluster }: Pick<Redis, 'isInCluster'>, script: string): string =>
  isInCluster ? script.replaceAll("'PUBLISH'", "'SPUBLISH'").replaceAll("'NUMSUB'", "'SHARDNUMSUB'") : script

/** Subscribes to a channel, wherever its shard moves. `subscriber` is a connection of its own. */
export async function subscribeTo(
  subscriber: Redis,
  channel: string,
  onMessage: (message: string) => void,
): Promise<void> {
  const { isInCluster } = subscriber
  subscriber.on(isInCluster ? 'smessage' : 'message', (from: string, message: string) => {
    if (from === channel) onMessage(message)
  })
  if (!isInCluster) return void (await subscriber.subscribe(channel))
  // Its node has given the slot away, and forgot the subscription.
  subscriber.on('moved', () => {
    subscriber.disconnect(true)
    void subscriber.ssubscribe(channel)
  })
  await subscriber.ssubscribe(channel)
}

/** Ends a subscription. */
export const unsubscribeFrom = (subscriber: Redis, channel: string): Promise<unknown> =>
  subscriber.isInCluster ? subscriber.sunsubscribe(channel) : subscriber.unsubscribe(channel)
