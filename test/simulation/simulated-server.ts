import type { SeededRandom } from './seeded-random.ts'
import type { SimulatedProcess, SimulatedTime } from './simulated-time.ts'

/** What a client does with a command whose server is away. */
export type ConnectionMode = 'wait' | 'fail-fast'

interface Command {
  perform: () => unknown
  resolve: (value: unknown) => void
  reject: (error: Error) => void
}

const FAILS_AFTER_MS = 300
const RECONNECTS_WITHIN_MS = 150

/**
 * A service that processes talk to over connections of their own. A command is carried out a little after it
 * was sent, in the order of its connection, and answered a little later; both may take long. The server can
 * go away between any two of these: then a client in mode `wait` sends again what was not answered, carried
 * out or not, and one in mode `fail-fast` fails it.
 */
export class SimulatedServer {
  isUp = true
  readonly name: string
  readonly time: SimulatedTime
  readonly random: SeededRandom
  private readonly connections = new Set<Connection>()

  constructor(name: string, time: SimulatedTime, random: SeededRandom) {
    this.name = name
    this.time = time
    this.random = random
  }

  connect(process: SimulatedProcess, mode: ConnectionMode): Connection {
    const connection = new Connection(this, process, mode)
    this.connections.add(connection)
    return connection
  }

  goAway(): void {
    if (!this.isUp) return
    this.isUp = false
    for (const connection of this.connections) connection.break()
  }

  comeBack(): void {
    if (this.isUp) return
    this.isUp = true
    for (const connection of this.connections) {
      if (!connection.process.isAlive) this.connections.delete(connection)
      else
        this.time.after(this.random.whole(20, RECONNECTS_WITHIN_MS), connection.process, () =>
          connection.resume(),
        )
    }
  }

  /** Milliseconds a message travels. Now and then one takes long. */
  latencyMs(): number {
    return this.random.chance(0.03) ? this.random.whole(20, 300) : this.random.whole(0, 2)
  }
}

export class Connection {
  readonly process: SimulatedProcess
  isConnected: boolean
  private readonly server: SimulatedServer
  private readonly mode: ConnectionMode
  private readonly listeners = new Set<() => void>()
  private unanswered: Command[] = []
  /** Counts what broke; an answer of before is lost. */
  private generation = 0
  private sendsAtMs = 0
  private answersAtMs = 0

  constructor(server: SimulatedServer, process: SimulatedProcess, mode: ConnectionMode) {
    this.server = server
    this.process = process
    this.mode = mode
    this.isConnected = server.isUp
  }

  /** Has the server carry something out, all of it at one instant. */
  send<T>(perform: () => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const command: Command = { perform, resolve: resolve as Command['resolve'], reject }
      this.unanswered.push(command)
      if (this.isConnected) this.transmit(command)
      else if (this.mode === 'fail-fast') this.failLater(command)
    })
  }

  /** Hears when the connection is back. */
  onReady(listener: () => void): void {
    this.listeners.add(listener)
  }

  offReady(listener: () => void): void {
    this.listeners.delete(listener)
  }

  break(): void {
    this.isConnected = false
    this.generation += 1
    if (this.mode === 'fail-fast') for (const command of this.unanswered) this.failLater(command)
  }

  resume(): void {
    if (!this.server.isUp || this.isConnected) return
    this.isConnected = true
    for (const listener of this.listeners) listener()
    if (this.mode === 'wait') for (const command of [...this.unanswered]) this.transmit(command)
  }

  private transmit(command: Command): void {
    const { server, process, generation } = this
    const { time } = server
    this.sendsAtMs = Math.max(this.sendsAtMs, time.nowMs + server.latencyMs())
    // A command that was sent is carried out even when its sender has died.
    time.after(this.sendsAtMs - time.nowMs, null, () => {
      if (generation !== this.generation || !server.isUp) return
      let answer: () => void
      try {
        const value = command.perform()
        answer = () => command.resolve(value)
      } catch (error) {
        answer = () => command.reject(error as Error)
      }
      this.answersAtMs = Math.max(this.answersAtMs, time.nowMs + server.latencyMs())
      time.after(this.answersAtMs - time.nowMs, process, () => {
        if (generation !== this.generation || !this.forget(command)) return
        answer()
      })
    })
  }

  private failLater(command: Command): void {
    this.server.time.after(FAILS_AFTER_MS, this.process, () => {
      if (this.forget(command)) command.reject(new Error(`${this.server.name} is away`))
    })
  }

  private forget(command: Command): boolean {
    const index = this.unanswered.indexOf(command)
    if (index < 0) return false
    this.unanswered.splice(index, 1)
    return true
  }
}
