import type { LookupAddress } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import type { ResolveName } from './guarded-lookup.ts'

/** Two tries of so long, the second longer: a name is given up after a few seconds. */
const TRY_MS = 1_500
const TRIES = 2

/**
 * Resolves names that strangers chose, by DNS alone. `dns.lookup` would run the system's resolver in one of the few
 * threads that a process has for all its look-ups, for as long as a name server chooses not to answer. The system's
 * hosts file is not read. `servers`: `address:port`; the system's by default.
 */
export function createResolveName(servers?: readonly string[]): ResolveName {
  const resolver = new Resolver({ timeout: TRY_MS, tries: TRIES })
  if (servers) resolver.setServers(servers)
  return (hostname, { family }, callback) => {
    const of = async (wanted: 4 | 6): Promise<LookupAddress[]> => {
      if (family === (wanted === 4 ? 6 : 4)) return []
      const found = await (wanted === 4 ? resolver.resolve4(hostname) : resolver.resolve6(hostname))
      return found.map((address) => ({ address, family: wanted }))
    }
    void Promise.allSettled([of(4), of(6)]).then((outcomes) => {
      const addresses = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? outcome.value : []))
      const refusal = outcomes.find((outcome) => outcome.status === 'rejected')
      if (addresses.length === 0 && refusal) callback(refusal.reason, [])
      else callback(null, addresses)
    })
  }
}
