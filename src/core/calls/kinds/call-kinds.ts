import type { ModelKind } from '../../catalog/catalog.ts'
import type { RequestOf } from '../call-request.ts'
import type { ChatContent, ChatMessage, SamplingParameters } from '../chat-request.ts'
import { withoutHosted } from '../hosted-tools.ts'
import { withoutTools } from '../makers-tools.ts'
import type { NativeContent } from '../messages-request.ts'
import type { CallKind } from './call-kind.ts'
import { chat } from './chat.ts'
import { type EmbeddingsContent, embeddings } from './embeddings.ts'
import { type ImageContent, image } from './image.ts'
import { type ModerationContent, moderation } from './moderation.ts'
import { native } from './native.ts'
import { type RerankContent, rerank } from './rerank.ts'
import { type SpeechContent, speech } from './speech.ts'
import { type TranscriptionContent, transcription } from './transcription.ts'

/** The text of a call. It is sealed in the call's job, never logged and stored nowhere else. */
export type CallContent = ChatContent | NativeContent | ResultContent

/** The content of calls that return one result and no completion. */
export type ResultContent =
  | EmbeddingsContent
  | RerankContent
  | ModerationContent
  | ImageContent
  | SpeechContent
  | TranscriptionContent

export type CallRequest = RequestOf<CallContent>

export type Kind = CallContent['kind']
export type ContentOf<K extends Kind> = Extract<CallContent, { kind: K }>

/** Every kind of call. Each kind's rules are in its own file only. */
const CALL_KINDS: { [K in Kind]: CallKind<ContentOf<K>> } = {
  chat,
  native,
  embeddings,
  rerank,
  moderation,
  image,
  speech,
  transcription,
}

export const kindOf = (content: CallContent): CallKind<CallContent> =>
  CALL_KINDS[content.kind] as CallKind<CallContent>

export const messagesOf = (content: CallContent): readonly ChatMessage[] =>
  'messages' in content ? content.messages : []

export const parametersOf = (content: CallContent): SamplingParameters =>
  'parameters' in content ? content.parameters : {}

export const withoutParameters = <Content extends CallContent>(
  content: Content,
  names: readonly string[],
): Content =>
  'parameters' in content
    ? {
        ...content,
        ...('hosted' in content && content.hosted && { hosted: withoutHosted(content.hosted, names) }),
        ...('request' in content && { request: withoutTools(content.request, names) }),
        parameters: withoutFields(content.parameters, names),
      }
    : content

/** Also without those among the fields that are passed. */
function withoutFields({ passed, ...parameters }: SamplingParameters, names: readonly string[]) {
  const others = <Values extends object>(values: Values) =>
    Object.fromEntries(Object.entries(values).filter(([name]) => !names.includes(name))) as Values
  return { ...others(parameters), ...(passed && { passed: others(passed) }) }
}

/** The route at which models of a kind are called. */
export const surfaceOf = (kind: ModelKind): string => CALL_KINDS[kind].surface
