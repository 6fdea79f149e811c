/** What a client may bias `auto` towards: cost, balance, quality or tool use. */
export const ROUTING_PROFILES = ['eco', 'auto', 'premium', 'agentic'] as const
export type RoutingProfile = (typeof ROUTING_PROFILES)[number]
