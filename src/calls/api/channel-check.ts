import { RedisAwayError } from '../../platform/redis/redis-deadlines.ts'

const PROBE_EVERY_MS = 100
/** As long as a command of a connection that fails fast. */
const WAIT_MS = 2_000

interface ChannelCheckOptions {
  /** Sends a message with a number to the channel, over the connection that admits calls. */
  sendProbe: (number: number) => void
}

/**
 * Whether messages that are published where calls are admitted reach this instance. The connections of admission and of the
 * subscriber follow a new primary of Redis each by itself: until both have, workers would run calls whose frames no instance
 * receives. After each reconnect of either, messages are sent until one arrives.
 */
export class ChannelCheck {
  private readonly options: ChannelCheckOptions
  private sent = 0
  private isStopped = false
  /** Set while no message has arrived since the last reconnect. */
  private open: { from: number; arrival: PromiseWithResolvers<void>; timer: NodeJS.Timeout } | null = null

  constructor(options: ChannelCheckOptions) {
    this.options = options
  }

  /** A connection was interrupted: earlier messages prove nothing. */
  interrupted(): void {
    if (this.isStopped) return
    const from = this.sent + 1
    if (this.open) {
      this.open.from = from
      return
    }
    const timer = setInterval(() => this.probe(), PROBE_EVERY_MS)
    this.open = { from, arrival: Promise.withResolvers(), timer }
    this.probe()
  }

  /** A message arrived. */
  arrived(number: number): void {
    if (this.open === null || number < this.open.from) return
    this.open.arrival.resolve()
    this.close()
  }

  /** Resolves once messages arrive; rejects with a RedisAwayError if none does for two seconds. */
  async untilReceiving(): Promise<void> {
    if (this.open === null) return
    let timer: NodeJS.Timeout | undefined
    const isAway = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new RedisAwayError('does not deliver messages')), WAIT_MS)
    })
    await Promise.race([this.open.arrival.promise, isAway]).finally(() => clearTimeout(timer))
  }

  /** The instance stops: its connections close next. */
  stop(): void {
    this.isStopped = true
    this.close()
  }

  private close(): void {
    clearInterval(this.open?.timer)
    this.open = null
  }

  private probe(): void {
    this.options.sendProbe(++this.sent)
  }
}
