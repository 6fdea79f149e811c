import type { FastifyReply, FastifyRequest } from 'fastify'
import plugin from 'fastify-plugin'
import { messagesError } from '../calls/messages-error.ts'

/** Paths of the messages wire under /v2. */
const MESSAGES_PATH = /^\/v2\/messages(?=[/?]|$)/

/** Whether the client of a request speaks the messages wire: its libraries send the header `anthropic-version`. */
export const isMessagesClient = ({ url, headers }: Pick<FastifyRequest, 'url' | 'headers'>): boolean =>
  MESSAGES_PATH.test(url) || (headers['anthropic-version'] !== undefined && /^\/v2(?=[/?]|$)/.test(url))

/** Sends errors of a request in the format of the messages wire, and its id where clients of that wire expect it. */
export function speakMessages(
  request: FastifyRequest,
  reply: FastifyReply,
  errorBody: NonNullable<FastifyRequest['errorBody']>,
): void {
  request.errorBody = errorBody
  reply.header('request-id', request.id)
}

/** Under /v2, clients of the messages wire get every error in its format, also for unknown paths and keys. */
export const messagesWire = plugin(
  async (app) => {
    app.addHook('onRequest', (request, reply, done) => {
      if (isMessagesClient(request)) speakMessages(request, reply, messagesError)
      done()
    })
  },
  { name: 'messages-wire' },
)
