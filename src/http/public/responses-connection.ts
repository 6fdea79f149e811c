import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import type { WebSocket } from 'ws'
import type { Fields } from '../../core/json/json-object.ts'
import { ApiError, errorHeaders, errorObject } from '../../core/kernel/errors.ts'
import { newRequestId } from '../../core/kernel/ids.ts'
import { causeOf, type Logger } from '../../platform/observability/logger.ts'
import type { BodyReservation } from '../body-budget.ts'
import {
  errorEvent,
  eventsOf,
  type KeptConversations,
  type KeptTurns,
  readTurn,
  turnsAfter,
  warmUpEvents,
  withMember,
} from './responses-conversation.ts'

/** Messages that may wait for the turn before them. */
const WAITING_MAX = 4
/** As long as that of OpenAI. */
const AGE_MAX_MS = 60 * 60_000
/** Without a turn. */
const IDLE_MAX_MS = 15 * 60_000
/** Without an answer to a ping. */
const SILENT_MAX_MS = 60_000

/** Close codes (RFC 6455, 7.4.1). */
const NORMAL = 1000
const GOING_AWAY = 1001
const POLICY_VIOLATION = 1008
const INTERNAL_ERROR = 1011
const TRY_LATER = 1013

/** A control frame of a client has a head of 2 bytes and a mask of 4. */
const FRAME_BYTES = 6
const COMPLETE = new Set(['response.completed', 'response.incomplete'])
/** The headers of a turn that its events have. */
const SENT_HEADERS =
  /^(retry-after|x-(request-id|should-retry|ratelimit-.*|ignored-parameters|completion-limit))$/

/** A turn that is asked for over HTTP. */
export interface RunningTurn {
  response: Promise<IncomingMessage>
  /** The client is gone. */
  abandon: () => void
}

export interface ConnectionLimits {
  /** How long a message may take to arrive. */
  bodyTimeoutMs: number
}

export interface ConnectionOptions {
  /** Asks for a turn with the body of POST /v2/responses, JSON. */
  ask: (body: string) => RunningTurn
  /** Space for a message that arrives. Throws ApiError. */
  reserve: () => BodyReservation
  kept: KeptConversations
  clock: () => number
  limits: ConnectionLimits
  logger: Pick<Logger, 'warn'>
}

/** A message that arrives. */
interface Arriving {
  bytes: number
  sinceMs: number
  reservation: BodyReservation
}

/** Why a connection ends. */
interface Ending {
  code: number
  reason: string
  /** Sent before. */
  event?: string
}

const eventOf = (error: ApiError): string =>
  errorEvent(error.status, errorObject(error, newRequestId()), errorHeaders(error))

/** As OpenAI says it: clients connect again. */
const limitReached = (limit: string): Ending => ({
  code: NORMAL,
  reason: 'websocket_connection_limit_reached',
  event: errorEvent(400, {
    type: 'invalid_request_error',
    code: 'websocket_connection_limit_reached',
    message: `This WebSocket reached its limit (${limit}). Connect again to continue.`,
    param: null,
  }),
})

const tooManyTurns = () =>
  new ApiError(
    'concurrency_limit_exceeded',
    'A connection runs one response at a time. Wait for the responses before, or open another connection.',
  )

/** The WebSocket of one client. Its messages are turns, one after the other. */
export class ResponsesConnection {
  readonly #socket: WebSocket
  readonly #options: ConnectionOptions
  readonly #openedAtMs: number
  #lastTurnAtMs: number
  #lastBytesAtMs: number
  #arriving: Arriving | null = null
  #turns: Promise<void> = Promise.resolve()
  /** Turns that have not ended. */
  #open = 0
  #abandon: (() => void) | null = null
  /** No further turn is taken. */
  #ending: Ending | null = null

  constructor(socket: WebSocket, options: ConnectionOptions) {
    this.#socket = socket
    this.#options = options
    this.#openedAtMs = this.#lastTurnAtMs = this.#lastBytesAtMs = options.clock()
    socket.on('message', (data, isBinary) => this.#take(data as Buffer, isBinary))
    for (const frame of ['ping', 'pong'] as const)
      socket.on(frame, (data) => this.#arrivedControl(FRAME_BYTES + data.length))
    socket.on('error', () => {
      // The WebSocket then closes, with the code of what its client did.
    })
    socket.once('close', () => {
      this.#messageArrived()?.release()
      options.kept.delete(this)
      this.#abandon?.()
    })
  }

  /** Counts bytes that arrive, before the WebSocket reads them. */
  arrived(bytes: number): void {
    const { clock, reserve } = this.#options
    this.#lastBytesAtMs = clock()
    if (this.#ending) return
    try {
      this.#arriving ??= { bytes: 0, sinceMs: clock(), reservation: reserve() }
      this.#arriving.reservation.grow(bytes)
      this.#arriving.bytes += bytes
    } catch (error) {
      this.#refuse(error as ApiError, TRY_LATER)
    }
  }

  /** To be called every few seconds: pings the client, and ends a connection that is over. */
  look(): void {
    const { clock, limits } = this.#options
    const now = clock()
    if (now - this.#lastBytesAtMs > SILENT_MAX_MS) this.#socket.terminate()
    else if (this.#arriving && now - this.#arriving.sinceMs > limits.bodyTimeoutMs)
      this.#refuse(
        new ApiError('request_timeout', 'The message did not arrive in time. Send it again.'),
        POLICY_VIOLATION,
      )
    else if (now - this.#openedAtMs > AGE_MAX_MS) this.#end(limitReached('60 minutes'))
    else if (this.#open === 0 && now - this.#lastTurnAtMs > IDLE_MAX_MS)
      this.#end(limitReached('15 minutes without a response'))
    else this.#socket.ping()
  }

  /** Ends the connection once its turns have ended. */
  retire(): void {
    this.#end({ code: GOING_AWAY, reason: 'The gateway stops. Connect again.' })
  }

  #arrivedControl(bytes: number): void {
    if (!this.#arriving) return
    this.#arriving.bytes -= bytes
    if (this.#arriving.bytes <= 0) this.#messageArrived()?.release()
  }

  /** The space of the message, for its turn. */
  #messageArrived(): BodyReservation | undefined {
    const arriving = this.#arriving
    this.#arriving = null
    return arriving?.reservation
  }

  #take(message: Buffer, isBinary: boolean): void {
    const reservation = this.#messageArrived()
    if (this.#ending || isBinary || this.#open > WAITING_MAX) {
      reservation?.release()
      if (isBinary) this.#refuse(new ApiError('invalid_json', 'A message is text.'), POLICY_VIOLATION)
      else if (!this.#ending) this.#refuse(tooManyTurns(), POLICY_VIOLATION)
      return
    }
    this.#open++
    this.#turns = this.#turns.then(async () => {
      await this.#turn(message, () => reservation?.release())
      this.#open--
      this.#lastTurnAtMs = this.#options.clock()
      if (this.#ending && this.#open === 0) this.#close(this.#ending)
    })
  }

  async #turn(message: Buffer, release: () => void): Promise<void> {
    try {
      await this.#run(message, release)
    } catch (error) {
      // A client that left has ended its turn.
      if (this.#socket.readyState !== this.#socket.OPEN) return
      if (error instanceof ApiError) return void (await this.#send(eventOf(error)))
      this.#options.logger.warn({ cause: causeOf(error) }, 'turn of a WebSocket broken off')
      this.#end({ code: INTERNAL_ERROR, reason: 'The response broke off. Connect again.' })
    } finally {
      this.#abandon = null
    }
  }

  async #run(message: Buffer, release: () => void): Promise<void> {
    const { kept, ask, clock } = this.#options
    const turn = await readTurn(message, kept.get(this)).finally(release)
    if (turn === null || this.#socket.readyState !== this.#socket.OPEN) return
    if (turn.kind === 'warm-up') {
      const { id, events } = warmUpEvents(turn.model, clock())
      kept.set(this, { id, ...turn.turns })
      for (const event of events) await this.#send(event)
      return
    }
    // From here on its body counts as that of its request.
    const { response: answer, abandon } = ask(turn.body)
    this.#abandon = abandon
    const response = await answer
    let headers: Fields | null = Object.fromEntries(
      Object.entries(response.headers).filter(([name]) => SENT_HEADERS.test(name)),
    )
    if (response.statusCode !== 200) {
      const { error } = JSON.parse(await text(response)) as { error: object }
      return this.#send(errorEvent(response.statusCode!, error, headers))
    }
    for await (const events of eventsOf(response)) {
      let sent: Promise<void> | undefined
      for (const { type, data } of events) {
        if (COMPLETE.has(type)) this.#keep(turnsAfter(turn.turns, JSON.parse(data).response))
        sent = this.#send(headers === null ? data : withMember(data, 'headers', headers))
        headers = null
      }
      // A client that reads slowly is bounded by what its response may have unread.
      await sent
    }
  }

  #keep(turns: KeptTurns | null): void {
    if (turns) this.#options.kept.set(this, turns)
    else this.#options.kept.delete(this)
  }

  /** Resolves once the client can be sent more. */
  #send(event: string): Promise<void> {
    return new Promise((resolve) => this.#socket.send(event, () => resolve()))
  }

  #refuse(error: ApiError, code: number): void {
    this.#messageArrived()?.release()
    this.#ending = { code, reason: error.code, event: eventOf(error) }
    this.#close(this.#ending)
    // What still arrives is read no more.
    this.#socket.pause()
  }

  #end(ending: Ending): void {
    this.#ending ??= ending
    if (this.#open === 0) this.#close(this.#ending)
  }

  #close({ code, reason, event }: Ending): void {
    if (event) void this.#send(event)
    this.#socket.close(code, reason)
  }
}
