import type { ControlMessage } from '../core/frames.ts'
import type { Redis } from '../platform/redis.ts'
import { CONTROL_CHANNEL } from '../platform/redis-keys.ts'

/** Hears what API instances tell workers. `subscriber` is a connection of its own. */
export async function listenForControl(
  subscriber: Redis,
  onMessage: (message: ControlMessage) => void,
): Promise<void> {
  subscriber.on('message', (channel, message) => {
    if (channel === CONTROL_CHANNEL) onMessage(JSON.parse(message) as ControlMessage)
  })
  await subscriber.subscribe(CONTROL_CHANNEL)
}
