import type { IncomingMessage } from 'node:http'
import type { CredentialsKind } from '../../src/core/catalog/provider-credentials.ts'
import { BEDROCK_MESSAGES, VERTEX_MESSAGES } from './clouds/cloud-messages.ts'
import { CONVERSE } from './clouds/converse.ts'
import type { Addressed, SimulatedWire } from './simulated-wire.ts'
import { SPEECH, TRANSCRIPTIONS, TRANSLATIONS } from './tasks/audio.ts'
import { IMAGE_EDITS, IMAGE_GENERATIONS } from './tasks/images.ts'
import type { SimulatedTask } from './tasks/simulated-task.ts'
import { EMBEDDINGS, MODERATIONS, RERANK } from './tasks/texts.ts'
import { ANTHROPIC_MESSAGES } from './wires/anthropic-messages.ts'
import { CHAT_COMPLETIONS } from './wires/chat-completions.ts'
import { GOOGLE_GENERATE_CONTENT } from './wires/google-generate-content.ts'
import { RESPONSES } from './wires/responses.ts'

export type Route =
  | { kind: 'state' }
  | { kind: 'models'; wire: SimulatedWire; provider: string }
  | {
      kind: 'completions'
      wire: SimulatedWire
      provider: string
      addressed: Addressed
      cloud?: CredentialsKind
    }
  | { kind: 'token'; cloud: 'google' | 'azure' }
  | { kind: 'task'; wire: SimulatedWire; provider: string; task: SimulatedTask }
  | { kind: 'refused'; status: number }

/** Of providers of the chat-completions wire. */
const TASKS: Readonly<Record<string, SimulatedTask>> = {
  embeddings: EMBEDDINGS,
  rerank: RERANK,
  moderations: MODERATIONS,
  'images/generations': IMAGE_GENERATIONS,
  'images/edits': IMAGE_EDITS,
  'audio/speech': SPEECH,
  'audio/transcriptions': TRANSCRIPTIONS,
  'audio/translations': TRANSLATIONS,
}

const IN_BODY: Addressed = { model: null, streams: false }

/** Which wire of which provider a request is for. Two wires list their models at one path; a header tells them apart. */
export function routeOf(request: IncomingMessage): Route {
  const path = (request.url ?? '').split('?')[0]!
  if (path === '/state') return { kind: 'state' }
  const cloud = routeOfCloud(path)
  if (cloud) return request.method === 'POST' ? cloud : { kind: 'refused', status: 405 }
  const match = /^\/([a-z0-9]+)\/(v1|v1beta)\/(.+)$/.exec(path)
  if (!match) return { kind: 'refused', status: 404 }
  const [, provider, version, rest] = match as unknown as [string, string, string, string]
  const route = version === 'v1' ? routeOfVersion1(request, provider, rest) : routeOfGoogle(provider, rest)
  const method = route.kind === 'models' ? 'GET' : 'POST'
  return route.kind === 'refused' || request.method === method ? route : { kind: 'refused', status: 405 }
}

const CLOUD_PATHS: Array<[path: RegExp, cloud: CredentialsKind, wires: Record<string, SimulatedWire>]> = [
  [
    /^openai\/deployments\/(?<model>[^/]+)\/(?<method>chat)\/completions$/,
    'azure',
    { chat: CHAT_COMPLETIONS },
  ],
  [
    /^publishers\/google\/models\/(?<model>[^/:]+):(?<method>\w+)$/,
    'google',
    { streamGenerateContent: GOOGLE_GENERATE_CONTENT, generateContent: GOOGLE_GENERATE_CONTENT },
  ],
  [
    /^publishers\/anthropic\/models\/(?<model>[^/:]+):(?<method>\w+)$/,
    'google',
    { streamRawPredict: VERTEX_MESSAGES, rawPredict: VERTEX_MESSAGES },
  ],
  [
    /^model\/(?<model>[^/]+)\/(?<method>[a-z-]+)$/,
    'aws',
    {
      'invoke-with-response-stream': BEDROCK_MESSAGES,
      invoke: BEDROCK_MESSAGES,
      'converse-stream': CONVERSE,
      converse: CONVERSE,
    },
  ],
]

/** A cloud has its name after the provider's, and the model in the path; its token endpoint is beside it. */
function routeOfCloud(path: string): Route | null {
  const [, provider = '', cloud = '', rest = ''] =
    /^\/([a-z0-9]+)\/(aws|google|azure)\/(.+)$/.exec(path) ?? []
  if (cloud !== 'aws' && /^token(\/|$)/.test(rest))
    return { kind: 'token', cloud: cloud as 'google' | 'azure' }
  for (const [pattern, kind, wires] of CLOUD_PATHS) {
    const { method = '', model = '' } = pattern.exec(rest)?.groups ?? {}
    const wire = kind === cloud && wires[method]
    if (!wire) continue
    const addressed = { model: decodeURIComponent(model), streams: method.includes('stream') }
    return { kind: 'completions', wire, provider, addressed, cloud: kind }
  }
  return null
}

function routeOfVersion1({ headers }: IncomingMessage, provider: string, rest: string): Route {
  switch (rest) {
    case 'chat/completions':
      return { kind: 'completions', wire: CHAT_COMPLETIONS, provider, addressed: IN_BODY }
    case 'messages':
      return { kind: 'completions', wire: ANTHROPIC_MESSAGES, provider, addressed: IN_BODY }
    case 'responses':
      return { kind: 'completions', wire: RESPONSES, provider, addressed: IN_BODY }
    case 'models': {
      const wire = headers['anthropic-version'] === undefined ? CHAT_COMPLETIONS : ANTHROPIC_MESSAGES
      return { kind: 'models', wire, provider }
    }
    default: {
      const task = Object.hasOwn(TASKS, rest) ? TASKS[rest] : undefined
      return task
        ? { kind: 'task', wire: CHAT_COMPLETIONS, provider, task }
        : { kind: 'refused', status: 404 }
    }
  }
}

function routeOfGoogle(provider: string, rest: string): Route {
  const wire = GOOGLE_GENERATE_CONTENT
  if (rest === 'models') return { kind: 'models', wire, provider }
  const call = /^models\/([^/:]+):(streamGenerateContent|generateContent)$/.exec(rest)
  if (!call) return { kind: 'refused', status: 404 }
  const addressed = { model: decodeURIComponent(call[1]!), streams: call[2] === 'streamGenerateContent' }
  return { kind: 'completions', wire, provider, addressed }
}
