import type { SamplingParameters } from '../../core/calls/chat-request.ts'
import type { ContentOf, ResultContent } from '../../core/calls/kinds/call-kinds.ts'
import { isRelayed } from '../../core/calls/kinds/native.ts'
import { withoutBillingHeader } from '../../core/calls/messages-content.ts'
import type { NativeContent } from '../../core/calls/messages-request.ts'
import type { Offer, Wire } from '../../core/catalog/catalog.ts'
import { failureOfErrorObject, failureOfStatus } from '../chat-completions.ts'
import { nativeMessages } from '../chat-to-messages.ts'
import { formBody } from '../http/form-body.ts'
import { restoringNames, withPortableNames } from '../portable-names.ts'
import type { FilePlace, ResponseFile } from '../response-files.ts'
import {
  type AttemptRequest,
  type ChatAttempt,
  type CompletionReader,
  type Emit,
  parseObject,
  requestHeaders,
  type WholeReading,
  type WireMapping,
  type WireRequest,
} from '../wire.ts'
import { embeddings } from './embeddings.ts'
import { image } from './image.ts'
import { moderation } from './moderation.ts'
import { rerank } from './rerank.ts'
import { FormParts, type ResultKind } from './result-kind.ts'
import { speech } from './speech.ts'
import { transcription } from './transcription.ts'

/** A wire with the attempt that it is to make. */
interface BoundWire extends Pick<WireMapping, 'failureOfStatus' | 'failureOfErrorObject'> {
  request: (apiKey: string | null) => WireRequest
  openReader: () => CompletionReader
}

const bound = <Attempt>(wire: WireMapping<Attempt>, attempt: Attempt): BoundWire => ({
  request: (apiKey) => wire.request(attempt, apiKey),
  openReader: () => wire.openReader(attempt),
  failureOfStatus: wire.failureOfStatus,
  failureOfErrorObject: wire.failureOfErrorObject,
})

/** The wires that take fewer names of functions than clients may use. */
const PORTABLE_ONLY: ReadonlySet<Wire> = new Set(['google-generate-content', 'bedrock-converse'])

/** How the content of an attempt is asked of a provider: chats on its wire, results beside it. */
export function wireFor({ content, ...terms }: AttemptRequest, wireOfChats: WireMapping): BoundWire {
  switch (content.kind) {
    case 'chat': {
      const { messages, parameters, exactJson, sentJson, hosted } = content
      const attempt = { ...terms, messages, parameters, exactJson, sentJson, hosted }
      return PORTABLE_ONLY.has(terms.offer.provider.wire)
        ? boundPortably(wireOfChats, attempt)
        : bound(wireOfChats, attempt)
    }
    case 'native':
      return isRelayed(content, terms.offer)
        ? bound(nativeMessages, { ...terms, content })
        : boundTranslated(wireOfChats, { ...terms, content })
    default:
      return bound(results, { ...terms, content })
  }
}

/** A native request as a chat, for the other wires. */
function boundTranslated(wire: WireMapping, { content, ...terms }: AttemptRequest<NativeContent>): BoundWire {
  const messages = withoutBillingHeader(content.messages)
  const parameters = parametersAt(terms.offer, content)
  return boundPortably(wire, { ...terms, messages, parameters, namedStops: parameters.stop })
}

/** A chat whose functions have names that every wire takes. */
function boundPortably(wire: WireMapping, attempt: ChatAttempt): BoundWire {
  const portable = bound(wire, withPortableNames(attempt))
  return { ...portable, openReader: () => restoringNames(portable.openReader(), attempt.parameters) }
}

/** Clients of the messages wire ask every model for thinking; models that cannot think may refuse the parameter. */
function parametersAt({ reasons }: Offer, { parameters }: NativeContent): SamplingParameters {
  if (reasons) return parameters
  const { reasoning_effort: _, ...others } = parameters
  return others
}

const RESULT_KINDS: { [K in ResultContent['kind']]: ResultKind<ContentOf<K>> } = {
  embeddings,
  rerank,
  moderation,
  image,
  speech,
  transcription,
}

const kindOf = ({ kind }: ResultContent) => RESULT_KINDS[kind] as ResultKind<ResultContent>

/** The longest response with files: ten images of the largest size, in base64. */
const MEDIA_BYTES_MAX = 160 * 1024 * 1024
/** Names and values of a response: the most vectors as numbers, or a transcript of some hours with a time for every word. */
const VALUES_MAX = 400_000

/** Requests results other than chat completions, and reads them, whatever the provider's wire. */
export const results: WireMapping<AttemptRequest<ResultContent>> = {
  request(attempt, apiKey) {
    const { content } = attempt
    const { path, isMedia, request } = kindOf(content)
    const { provider } = attempt.offer
    const { path: end = '', body } = request(content, attempt.offer, attempt.image)
    const form = body instanceof FormParts ? formBody(body.fields, body.files) : null
    const headers = requestHeaders(provider, apiKey, 'authorization', {
      ...(form && { contentType: form.contentType }),
      ...(isMedia && { accept: '*/*' }),
    })
    if (form) headers.push('content-length', String(form.bytes))
    return {
      url: (provider.quirks?.taskUrls?.[content.kind] ?? provider.baseUrl + path) + end,
      headers,
      body: form ?? JSON.stringify(body),
      ...(isMedia && { responseBytesMax: MEDIA_BYTES_MAX }),
    }
  },
  openReader: ({ content, image }) => new ResultReader(content, image),
  failureOfStatus,
  failureOfErrorObject,
}

/** Reads a whole response. A response that does not have everything that was requested is malformed. */
class ResultReader implements CompletionReader {
  readonly wholeValuesMax = VALUES_MAX
  readonly files?: FilePlace
  readonly #content: ResultContent
  readonly #image: AttemptRequest['image']

  constructor(content: ResultContent, choice: AttemptRequest['image']) {
    this.#content = content
    this.#image = choice
    const { files } = kindOf(content)
    if (files) this.files = files
  }

  event(): 'malformed' {
    return 'malformed'
  }

  whole(text: string, emit: Emit, files: readonly ResponseFile[] = []): WholeReading {
    const kind = kindOf(this.#content)
    const body = kind.files?.kind === 'body' ? {} : parseObject(text)
    if (body?.error != null) return { error: body.error }
    const read = body && kind.read(this.#content, { body, files, image: this.#image })
    if (!read) return 'malformed'
    emit(['result', JSON.stringify(read.result)])
    emit(['finish', 'stop'])
    if (read.usage) emit(['usage', read.usage, 0])
    return 'ok'
  }
}
