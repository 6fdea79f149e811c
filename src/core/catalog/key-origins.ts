import { oncePer } from '../kernel/once-per.ts'
import type { Provider } from './catalog.ts'

/** The origins that receive a provider's key, sorted: of its base URL and of its task URLs. */
export const keyOrigins = oncePer(({ baseUrl, quirks }: Pick<Provider, 'baseUrl' | 'quirks'>): string[] => {
  const urls = [baseUrl, ...Object.values(quirks?.taskUrls ?? {})]
  return [...new Set(urls.map((url) => new URL(url).origin))].sort()
})
