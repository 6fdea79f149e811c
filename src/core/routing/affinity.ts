import { crc32 } from 'node:zlib'
import type { Candidate } from '../calls/call-job.ts'
import type { Sort } from '../calls/provider-preferences.ts'
import type { Offer, Wire } from '../catalog/catalog.ts'
import { oncePer } from '../kernel/once-per.ts'
import { likelyPrice, NO_CACHE } from './likely-cost.ts'

/**
 * A conversation stays with the offer whose provider has its prompt in its cache. Where nothing is remembered, its hash
 * decides among offers as a draw would (rendezvous hashing), so that every instance finds the same one. What it was on
 * is remembered in Redis (src/billing/holds/admit.lua), since offers fail, and their prices and measurements change.
 */

const hashOf = oncePer(({ id }: Pick<Offer, 'id'>) => crc32(id))

/** The draw of an offer for a conversation: uniform in [0, 1) over conversations, and the same in every process. */
export function drawOf(offer: Pick<Offer, 'id'>, conversation: number): number {
  // The finalizer of MurmurHash3: a change of one bit of either hash changes half of the bits.
  let mixed = hashOf(offer) ^ conversation
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return ((mixed ^ (mixed >>> 16)) >>> 0) / 4_294_967_296
}

/** Whether an operator weighted any of the offers. */
export const isWeighted = oncePer((offers: readonly Offer[]) =>
  offers.some(({ weight }) => weight !== undefined),
)

/** Identifies the target of a candidate whose model is known. */
export const affinityTarget = ({
  offerId,
  providerKeyId,
}: Pick<Candidate, 'offerId' | 'providerKeyId'>): string =>
  providerKeyId === undefined ? offerId : `${offerId} ${providerKeyId}`

/** The prices of a prompt that is in an offer's cache, and of one that is not yet. */
const WARM = { read: 1, written: 0 }
const COLD = { read: 0, written: 1 }

/**
 * Whether a conversation may stay with a healthy offer although another is first in the order for it: if it does not cost
 * more there with its prompt in the cache than at the first without, or, where the request sorts by price, if it is not
 * the dearer one. Never against the priority of the catalog, a weight of 0, the client's wire, or another order of the
 * request.
 */
export function mayStay(
  offer: Offer,
  first: Offer,
  { pinned, sort, wire }: { pinned: readonly unknown[]; sort: Sort | undefined; wire?: Wire | undefined },
): boolean {
  if (offer === first) return true
  if (pinned.length > 0 || offer.weight === 0) return false
  switch (sort) {
    case undefined:
      return (
        offer.priority === first.priority &&
        (offer.provider.wire === wire) === (first.provider.wire === wire) &&
        likelyPrice(offer, WARM) <= likelyPrice(first, COLD)
      )
    case 'price':
      return likelyPrice(offer, NO_CACHE) <= likelyPrice(first, NO_CACHE)
    case 'throughput':
    case 'latency':
      return false
    default:
      return sort satisfies never
  }
}
