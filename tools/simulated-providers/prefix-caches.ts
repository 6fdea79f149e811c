import type { IncomingHttpHeaders } from 'node:http'
import { isObject, listOf } from './simulated-request.ts'

/** The least that providers cache. */
const LEAST_TOKENS = 1_024
const MAX_PREFIXES = 10_000

/**
 * The prompt caches of simulated providers: a prompt is cached as far as its messages are those that the same provider
 * saw from the same key for the same model.
 */
export function createPrefixCaches() {
  const seen = new Set<string>()
  return {
    /** The cached tokens of a prompt with so many tokens, which is in the cache from now on. */
    read(
      at: { provider: string; model: string; headers: IncomingHttpHeaders },
      body: unknown,
      tokens: number,
    ) {
      const messages = isObject(body) ? listOf(body.messages) : []
      const owner = `${at.provider} ${at.headers.authorization ?? ''} ${at.model}`
      let text = ''
      let cached = 0
      const prefixes = messages.map((message) => {
        text += JSON.stringify(message)
        const prefix = `${owner} ${text}`
        if (seen.has(prefix)) cached = text.length
        return prefix
      })
      if (seen.size > MAX_PREFIXES) seen.clear()
      for (const prefix of prefixes) seen.add(prefix)
      const cachedTokens = Math.floor((tokens * cached) / text.length)
      return cachedTokens >= LEAST_TOKENS ? cachedTokens : 0
    },
  }
}
