import { apiPlan, workerPlan } from '../../tools/launcher/start/gateway-plans.ts'

const NOWHERE = { host: '', port: 0 }
const PLANS = {
  api: apiPlan('', {}, ''),
  dispatch: workerPlan('', {}, 'dispatch', NOWHERE),
  settlement: workerPlan('', {}, 'settlement', NOWHERE),
}

export const ROLES = ['api', 'dispatch', 'settlement'] as const
export type Role = (typeof ROLES)[number]

/** The arguments of `node` with which the launcher starts a role, as a set: of two equal flags the last one counts. */
export function launchedWith(role: Role): Set<string> {
  const { args } = PLANS[role]
  return new Set(new Map(args.map((arg) => [arg.split('=')[0], arg.replace(/^\//, '')])).values())
}

/** Milliseconds in which a process of the gateway has ended after SIGTERM. */
export const endsWithinMs = (graceMs: number): number => graceMs + 5_000
