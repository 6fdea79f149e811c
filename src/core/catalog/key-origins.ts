import { oncePer } from '../kernel/once-per.ts'
import type { Provider } from './catalog.ts'

/** The origins that a provider's key is sent to, sorted: those of its base address and of where it takes other tasks. */
export const keyOrigins = oncePer(({ baseUrl, quirks }: Pick<Provider, 'baseUrl' | 'quirks'>): string[] => {
  const urls = [baseUrl, ...Object.values(quirks?.taskUrls ?? {})]
  return [...new Set(urls.map((url) => new URL(url).origin))].sort()
})
