import type { TaskKind } from './quality-figure.ts'

/** The model name that leaves the choice to the gateway. */
export const AUTO_MODEL = 'auto'

/**
 * Whether a requested name, including its suffix, leaves the choice to the gateway, which then does not disclose its
 * target.
 */
export const isAutoModel = (name: string): boolean => name.split(':', 1)[0] === AUTO_MODEL

/** What a client may bias `auto` towards: cost, balance, quality or tool use. */
export const ROUTING_PROFILES = ['eco', 'auto', 'premium', 'agentic'] as const
export type RoutingProfile = (typeof ROUTING_PROFILES)[number]

/** The basis of a choice by `auto`. Stored with the call; never shown to its client. */
export interface AutoDecision {
  /** 0 to 1; higher: needs a stronger model. */
  score: number
  profile: RoutingProfile
  /** Absent: of a call that an earlier version of the gateway admitted. */
  kind?: TaskKind
}

/**
 * What one point of quality is worth, in USD per 1,000 calls: a point is one more of a hundred calls answered well, so
 * 1 pays ten cents for each further good answer.
 */
export type PointPrices = Record<RoutingProfile, number>
