import type { ControlMessage } from '../../core/calls/frames.ts'
import type { Redis } from '../../platform/redis/redis.ts'
import { controlChannel } from '../../platform/redis/redis-keys.ts'

/** Subscribes to the control messages of API instances for this worker of a shard. `subscriber` is a separate connection. */
export async function listenForControl(
  subscriber: Redis,
  workerId: string,
  onMessage: (message: ControlMessage) => void,
  shard = 0,
): Promise<void> {
  const ours = controlChannel(workerId, shard)
  subscriber.on('message', (channel, message) => {
    if (channel === ours) onMessage(JSON.parse(message) as ControlMessage)
  })
  await subscriber.subscribe(ours)
}
