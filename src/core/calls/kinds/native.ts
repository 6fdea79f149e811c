import { mediaParts } from '../chat-request.ts'
import { type NativeContent, nativeContent } from '../messages-request.ts'
import { extrasBound, withoutCaching } from '../native-content.ts'
import { NATIVE_AT_LIMIT, type NativeRequest } from '../native-message.ts'
import type { CallKind } from './call-kind.ts'
import { chatNeeds, chatTexts, modalitiesOf } from './chat.ts'

/** A call whose client uses its provider's wire: planned and counted as a chat, but forwarded unchanged. */
export const native: CallKind<NativeContent> = {
  surface: 'POST /v1/messages',
  asksFor: 'completion',
  hasFlexibleLimit: true,
  stopAtLimit: NATIVE_AT_LIMIT,
  modalities: modalitiesOf,
  media: ({ messages }) => mediaParts(messages),
  needs(content) {
    const needs = chatNeeds(content)
    const textTokens = needs.prompt.textTokens + extrasBound(content.request)
    return {
      ...needs,
      prompt: { ...needs.prompt, textTokens },
      wire: 'anthropic-messages',
      pricesCache: true,
    }
  },
  texts: chatTexts,
  withoutCaching: (content) => ({ ...content, request: withoutCaching(content.request) }),
  write: ({ request, betas }) => ({ request, betas }),
  read: ({ request, betas }) => nativeContent(request as NativeRequest, betas as string[] | undefined),
}
