import type { ControlMessage } from '../../core/calls/frames.ts'
import type { Redis } from '../../platform/redis/redis.ts'
import { CONTROL_CHANNEL, controlChannel } from '../../platform/redis/redis-keys.ts'

/**
 * Subscribes to the control messages of API instances for all workers, and for this one. `subscriber` is a separate
 * connection.
 */
export async function listenForControl(
  subscriber: Redis,
  workerId: string,
  onMessage: (message: ControlMessage) => void,
): Promise<void> {
  const channels = [CONTROL_CHANNEL, controlChannel(workerId)]
  subscriber.on('message', (channel, message) => {
    if (channels.includes(channel)) onMessage(JSON.parse(message) as ControlMessage)
  })
  await subscriber.subscribe(...channels)
}
