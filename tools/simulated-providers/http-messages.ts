import type { IncomingMessage, ServerResponse } from 'node:http'
import { SIMULATED_UPSTREAM_MODELS } from '../../src/core/catalog/simulated-catalog.ts'
import type { Refusal, SimulatedWire } from './simulated-wire.ts'

const MAX_BODY_BYTES = 64 * 1024 * 1024

/** Reads a whole JSON body and calls back with it, or with null when it is not JSON, and with its text. */
export function readJsonBody(request: IncomingMessage, done: (body: unknown, text: string) => void): void {
  const parts: Buffer[] = []
  let size = 0
  request.on('data', (part: Buffer) => {
    size += part.length
    if (size > MAX_BODY_BYTES) request.destroy()
    else parts.push(part)
  })
  request.on('end', () => {
    const text = (parts.length === 1 ? parts[0]! : Buffer.concat(parts)).toString()
    done(parseJson(text), text)
  })
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Recorded as null and answered with a 400, like any body that is no request.
    return null
  }
}

/** Answers with the models that the catalog offers. Any other name of the table of behaviours works as well. */
export function sendModels(response: ServerResponse, wire: SimulatedWire, provider: string): void {
  sendJson(response, 200, JSON.stringify(wire.modelList(SIMULATED_UPSTREAM_MODELS, provider)))
}

/** Answers with an error body in the wire's form. */
export function sendError(
  response: ServerResponse,
  wire: SimulatedWire,
  refusal: Refusal,
  provider: string,
  model: string,
): void {
  sendJson(response, refusal.status, wire.error(refusal, provider, model))
}

/** Answers with a JSON text. */
export function sendJson(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(text)
}
