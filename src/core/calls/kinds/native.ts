import type { Offer } from '../../catalog/catalog.ts'
import { mediaParts } from '../chat-request.ts'
import { isDispensable, makersTypes } from '../makers-tools.ts'
import {
  extrasBound,
  HOUR_IN_CACHE,
  hasLongCaching,
  withoutCaching,
  withShortCaching,
} from '../messages-content.ts'
import { type NativeContent, nativeContent } from '../messages-request.ts'
import { stopsBeyond } from '../messages-to-chat-parameters.ts'
import { NATIVE_AT_LIMIT, NATIVE_WIRE, type NativeRequest } from '../messages-wire.ts'
import { fieldsWithoutEffect } from '../passed-fields.ts'
import { providerTools } from '../provider-tools.ts'
import { NATIVE_MEMBERS } from '../read-members.ts'
import type { CallKind, CallNeeds } from './call-kind.ts'
import { chatNeeds, chatTexts, modalitiesOf } from './chat.ts'

/** Whether an offer gets the request of a content as the client wrote it, and its completion is relayed. */
export const isRelayed = ({ kind }: { kind: string }, { provider }: Pick<Offer, 'provider'>): boolean =>
  kind === 'native' && provider.wire === NATIVE_WIRE

/** The parameters that a provider of the wire may not support. */
const NATIVE = ['temperature', 'top_p', 'tools', 'response_format']
/** The same for other providers; thinking and calls at the same time are hints, which models may ignore. */
const REQUIRED = [...NATIVE, 'tool_choice', 'stop']

/** Providers of other wires get what is read of a request. */
function onlyNative(request: NativeRequest): Pick<CallNeeds, 'onlyAt'> {
  const names = fieldsWithoutEffect(request, {}, NATIVE_MEMBERS)
  return names.length > 0 ? { onlyAt: { wire: NATIVE_WIRE, names } } : {}
}

/**
 * A call whose client uses the messages wire: planned and counted as a chat. Providers of that wire get the request
 * unchanged; the others, if they may serve it, get its messages and parameters.
 */
export const native: CallKind<NativeContent> = {
  surface: 'POST /v1/messages',
  asksFor: 'completion',
  hasFlexibleLimit: true,
  stopAtLimit: NATIVE_AT_LIMIT,
  modalities: modalitiesOf,
  media: ({ messages }) => mediaParts(messages),
  needs(content) {
    const needs = chatNeeds(content)
    const required = content.anyWire ? REQUIRED : NATIVE
    const textTokens = needs.prompt.textTokens + extrasBound(content.request)
    const types = makersTypes(content.request)
    const tools = providerTools(content.request)
    const cachesHour = hasLongCaching(content.request)
    return {
      ...needs,
      parameters: [
        ...needs.parameters.filter((name) => required.includes(name)),
        ...(content.anyWire && stopsBeyond(content.request) ? ['stop_sequences'] : []),
        ...(content.anyWire ? types.filter((type) => !isDispensable(type)) : []),
        ...(cachesHour ? [HOUR_IN_CACHE] : []),
      ],
      prompt: { ...needs.prompt, textTokens },
      ...(needs.signed && { signed: { ...needs.signed, name: 'messages.content.signature' } }),
      ...(tools && { providerTools: tools }),
      ...(cachesHour && { cachesHour: true as const }),
      wire: NATIVE_WIRE,
      ...(content.anyWire
        ? { extended: true as const, ...onlyNative(content.request) }
        : { onlyWire: true as const }),
      pricesCache: true,
    }
  },
  texts: chatTexts,
  withoutCaching: (content) => ({ ...content, request: withoutCaching(content.request) }),
  withShortCaching: (content) => ({ ...content, request: withShortCaching(content.request) }),
  write: ({ request, betas, opened }) => ({ request, betas, opened }),
  read: ({ request, betas, opened }) => {
    const kept = (opened ?? {}) as NonNullable<NativeContent['opened']>
    return nativeContent(
      request as NativeRequest,
      betas as string[] | undefined,
      (text) => kept[text] ?? null,
    )
  },
}
