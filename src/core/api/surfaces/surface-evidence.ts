import { createHash } from 'node:crypto'
import recorded from './surface-evidence.json' with { type: 'json' }
import type { Surface, SurfaceId, SurfaceStatus } from './surface-registry.ts'

/** What the release gate found of a surface; written by `npm run gate`. */
export interface SurfaceEvidence {
  /** When the gate ran, ISO 8601. */
  date: string
  /** The commit that it ran on. */
  commit: string
  passed: boolean
  /** The contract that it checked; see `contractDigest`. */
  contract: string
  /** How each check went, by its name. */
  checks: Record<string, string>
}

/** The evidence that this build carries. */
export const SURFACE_EVIDENCE: Readonly<Partial<Record<SurfaceId, SurfaceEvidence>>> = recorded

/** Parts of a route's schema that its clients depend on. */
export interface RouteContract {
  params?: unknown
  querystring?: unknown
  body?: unknown
  response?: unknown
}

/** Keywords of our own, which say of a schema how it is worded. */
const WORDING = ['errorMessage', 'documented']

/** Names what a surface promises: method, path and schemas without their wording. Evidence that was gathered for another contract is stale. */
export function contractDigest(
  { method, path }: Pick<Surface, 'method' | 'path'>,
  { params, querystring, body, response }: RouteContract,
): string {
  const contract = JSON.stringify([method, path, params, querystring, body, response], (name, value) =>
    WORDING.includes(name) || (name === 'description' && typeof value === 'string') ? undefined : value,
  )
  return createHash('sha256').update(contract).digest('hex').slice(0, 16)
}

/** The status to publish: a surface is `Stable` only with passing evidence for its present contract, else `Limited`. */
export function publishedStatus(
  declared: SurfaceStatus,
  evidence: SurfaceEvidence | null,
  contract: string | null,
): SurfaceStatus {
  if (declared !== 'Stable') return declared
  return evidence?.passed === true && evidence.contract === contract ? 'Stable' : 'Limited'
}
