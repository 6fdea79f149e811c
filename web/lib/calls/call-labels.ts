import type { Labels } from '../../../src/core/api/calls.ts'

/** What is known of the request of a call, each as a text that the request log finds it by. */
export const labelTexts = (labels: Labels | null | undefined): string[] => [
  ...(labels?.title ? [labels.title] : []),
  ...(labels?.referer ? [labels.referer] : []),
  ...(labels?.cached ? ['from the cache'] : []),
  ...(labels?.preset ? [`@preset/${labels.preset}`] : []),
  ...Object.entries(labels?.metadata ?? {}).map(([name, value]) => `${name}=${value}`),
]
