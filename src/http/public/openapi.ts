import type { FastifyInstance, FastifyPluginAsync, FastifyRequest } from 'fastify'
import { ChatCompletionBody } from '../../core/api/chat-completion.ts'
import { codeSamples } from '../../core/api/code-samples.ts'
import { MessageBody } from '../../core/api/message.ts'
import { SURFACES, type SurfaceId } from '../../core/api/surface-registry.ts'
import {
  EmbeddingsAnswer,
  ImagesAnswer,
  ModerationsAnswer,
  RerankAnswer,
  TranscriptAnswer,
} from '../../core/api/task-answers.ts'
import { publishedSurface, type SurfaceContracts } from './surface-list.ts'

/** Stands for the gateway's address in the document, which is written once; a name that no host has. */
const ORIGIN = 'http://gateway.invalid'
const HOST = /^[\w.:[\]-]{1,255}$/

interface OpenapiDependencies {
  contracts: SurfaceContracts
  /** The address that the gateway is known by; null: as the request has it. */
  publicUrl: string | null
}

/** GET /openapi.json: the OpenAPI 3.1 document of every route, with examples for the address that was asked. */
export const openapiRoute =
  (path: string): FastifyPluginAsync<OpenapiDependencies> =>
  async (app, { contracts, publicUrl }) => {
    let document: string | undefined
    app.get(path, { schema: { summary: 'This document' } }, async (request, reply) => {
      document ??= JSON.stringify(describedSurfaces(app, contracts))
      return reply
        .headers({ 'cache-control': 'public, max-age=300', 'access-control-allow-origin': '*', vary: 'host' })
        .type('application/json; charset=utf-8')
        .send(document.replaceAll(ORIGIN, publicUrl?.replace(/\/$/, '') ?? askedOrigin(request)))
    })
  }

const askedOrigin = ({ protocol, host }: FastifyRequest): string =>
  HOST.test(host) ? `${protocol}://${host}` : ORIGIN

/** What clients receive that no schema of a route describes: it is written as it comes, and not serialized. */
const RESPONSES: Partial<Record<SurfaceId, object>> = {
  messages: {
    description: 'The message; with `stream`, named server-sent events that end with `message_stop`',
    content: {
      'application/json': { schema: MessageBody },
      'text/event-stream': { schema: { type: 'string' } },
    },
  },
  'chat-completions': {
    description: 'The completion; with `stream`, server-sent events that end with `[DONE]`',
    content: {
      'application/json': { schema: ChatCompletionBody },
      'text/event-stream': { schema: { type: 'string' } },
    },
  },
  embeddings: json('The vectors, in the order of the inputs', EmbeddingsAnswer),
  rerank: json('The documents, the most relevant first', RerankAnswer),
  moderations: json('The verdicts', ModerationsAnswer),
  'images.generations': json('The images', ImagesAnswer),
  'images.edits': json('The images', ImagesAnswer),
  'audio.speech': {
    description: 'The speech, of the format that was asked for',
    content: { 'audio/*': { schema: { type: 'string', format: 'binary' } } },
  },
  'audio.transcriptions': transcript('The transcript'),
  'audio.translations': transcript('The transcript, in English'),
}

function transcript(description: string) {
  const { content } = json(description, TranscriptAnswer)
  return { description, content: { ...content, 'text/plain': { schema: { type: 'string' } } } }
}

function json(description: string, schema: object) {
  return { description, content: { 'application/json': { schema } } }
}

/** The document with the registry's word on each surface. */
function describedSurfaces(app: FastifyInstance, contracts: SurfaceContracts) {
  const document = app.swagger()
  const paths = document.paths as Record<string, Record<string, Record<string, unknown>>>
  const operations = SURFACES.flatMap((surface) => {
    const operation = paths[surface.path]?.[surface.method.toLowerCase()]
    return operation ? [{ surface, operation }] : []
  })
  for (const { surface, operation } of operations) {
    const { id, status, behaviour, deprecation } = publishedSurface(surface, contracts)
    const responses = operation.responses as Record<string, object>
    Object.assign(operation, {
      operationId: id,
      description: behaviour,
      ...(deprecation !== null && { deprecated: true }),
      ...(RESPONSES[surface.id] && { responses: { ...responses, 200: RESPONSES[surface.id] } }),
      'x-status': status,
      'x-codeSamples': codeSamples(surface, ORIGIN),
    })
  }
  return { ...document, servers: [{ url: ORIGIN }] }
}
