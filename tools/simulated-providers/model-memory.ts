import { type Behaviour, parseBehaviour } from './behaviour.ts'

export interface ModelMemory {
  /** The behaviour a model name asks for; null for an unknown one. */
  behaviourOf(model: string): Behaviour | null
  /** Counts a call of a model name and returns its number, from 1. */
  countCall(model: string): number
  /** Forgets the counts. */
  clear(): void
}

const MAX_KNOWN_NAMES = 10_000

/** Remembers parsed model names and how often each was called, which `flaky` and `every` depend on. */
export function createModelMemory(): ModelMemory {
  const behaviours = new Map<string, Behaviour | null>()
  const calls = new Map<string, number>()
  return {
    behaviourOf(model) {
      const known = behaviours.get(model)
      if (known !== undefined) return known
      if (behaviours.size >= MAX_KNOWN_NAMES) behaviours.clear()
      const parsed = parseBehaviour(model)
      behaviours.set(model, parsed)
      return parsed
    },
    countCall(model) {
      if (calls.size >= MAX_KNOWN_NAMES) calls.clear()
      const number = (calls.get(model) ?? 0) + 1
      calls.set(model, number)
      return number
    },
    clear: () => calls.clear(),
  }
}
