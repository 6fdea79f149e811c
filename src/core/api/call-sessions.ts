import { type Static, Type } from 'typebox'
import { Generation } from './calls.ts'
import { DecimalUsd, IsoTime, List } from './shared.ts'

/** The calls that named one conversation, at most the latest 500, summed. */
export const CallSessionView = Type.Object({
  id: Type.String(),
  calls: Type.Integer(),
  failed_calls: Type.Integer(),
  prompt_tokens: Type.Number(),
  completion_tokens: Type.Number(),
  /** Of the prompt tokens: read from a provider's prompt cache. */
  cached_tokens: Type.Number(),
  cost_usd: DecimalUsd,
  /** The admission of the first call. */
  first_at: IsoTime,
  /** The end of the last call. */
  last_at: IsoTime,
})
export type CallSessionView = Static<typeof CallSessionView>

/** GET /console/api/call-sessions: those of the latest calls. */
export const CallSessionList = List(CallSessionView)
export type CallSessionList = Static<typeof CallSessionList>

/** GET /console/api/call-sessions/calls?id=…: the calls of one session, in their order. */
export const CallSessionDetail = Type.Interface([CallSessionView], { data: Type.Array(Generation) })
export type CallSessionDetail = Static<typeof CallSessionDetail>
