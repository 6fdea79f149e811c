/** Strength of models, weakest first. */
export const TIERS = ['light', 'standard', 'strong', 'frontier'] as const
export type Tier = (typeof TIERS)[number]

/** What a client may bias `auto` towards: cost, balance, quality or tool use. */
export const ROUTING_PROFILES = ['eco', 'auto', 'premium', 'agentic'] as const
export type RoutingProfile = (typeof ROUTING_PROFILES)[number]

/** The basis of a choice by `auto`. Stored with the call; never shown to its client. */
export interface AutoDecision {
  /** 0 to 1; higher: needs a stronger model. */
  score: number
  tier: Tier
  profile: RoutingProfile
}

/** The scores from which the second, third and fourth tier are used; a missing bound is never reached. */
export type TierBounds = readonly number[]
export type AutoBounds = Record<RoutingProfile, TierBounds>
