import { parseChatRequest } from '../../src/core/calls/chat-request.ts'

/** What inputs that cost a transformation much are made of. */

export const MB = 1_000_000
export const many = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(i))
export const upTo = (size: number, piece: string) =>
  piece.repeat(Math.max(1, Math.floor(size / piece.length)))
export const bytes = (text: string) => Buffer.from(text)

const message = (content: unknown, role = 'user') => ({ role, content })
export const messagesOf = (content: unknown, count = 1) => ({ messages: many(count, () => message(content)) })
export const request = (content: unknown, more: object = {}) =>
  parseChatRequest({ ...messagesOf(content), ...more })
