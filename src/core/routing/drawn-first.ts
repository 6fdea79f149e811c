import { chooseKey } from './key-pool.ts'

/**
 * The models in the order for one conversation: the one that it is drawn for comes first, the others are its fallbacks. A
 * changed weight moves no more conversations than it must.
 */
export function drawnFirst(models: string[], weights: readonly number[], conversation: number): string[] {
  const targets = models.map((id, index) => ({ id, weight: weights[index] ?? 0 }))
  const standing = ({ weight }: { weight: number }) => (weight > 0 ? 'ready' : 'out')
  const first = chooseKey(targets, { affinity: conversation, standing })
  return first ? [first.id, ...models.filter((id) => id !== first.id)] : models
}
