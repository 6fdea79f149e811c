import { createHash } from 'node:crypto'
import recorded from './surface-evidence.json' with { type: 'json' }
import type { Surface, SurfaceId, SurfaceStatus } from './surface-registry.ts'

/** The release gate's results for a surface; written by `npm run gate`. */
export interface SurfaceEvidence {
  /** When the gate ran, ISO 8601. */
  date: string
  /** The commit that it ran on. */
  commit: string
  passed: boolean
  /** The contract that it checked; see `contractDigest`. */
  contract: string
  /** The result of each check, by its name. */
  checks: Record<string, string>
}

/** The evidence in this build. */
export const SURFACE_EVIDENCE: Readonly<Partial<Record<SurfaceId, SurfaceEvidence>>> = recorded

/** Parts of a route's schema that its clients depend on. */
export interface RouteContract {
  params?: unknown
  querystring?: unknown
  body?: unknown
  response?: unknown
}

/** Our own keywords, which set the error text of a schema. */
const WORDING = ['errorMessage', 'documented']

/** A digest of a surface's contract: method, path and schemas without error texts. Evidence for another contract is stale. */
export function contractDigest(
  { method, path }: Pick<Surface, 'method' | 'path'>,
  { params, querystring, body, response }: RouteContract,
): string {
  const contract = JSON.stringify([method, path, params, querystring, body, response], (name, value) =>
    WORDING.includes(name) || (name === 'description' && typeof value === 'string') ? undefined : value,
  )
  return createHash('sha256').update(contract).digest('hex').slice(0, 16)
}

/** The status to publish: a surface is `Stable` only with passing evidence for its current contract, otherwise `Limited`. */
export function publishedStatus(
  declared: SurfaceStatus,
  evidence: SurfaceEvidence | null,
  contract: string | null,
): SurfaceStatus {
  if (declared !== 'Stable') return declared
  return evidence?.passed === true && evidence.contract === contract ? 'Stable' : 'Limited'
}
