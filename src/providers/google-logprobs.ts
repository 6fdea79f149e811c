import type { TokenLogprob } from '../core/calls/completion.ts'
import { isObject } from './wire.ts'

type Token = Omit<TokenLogprob, 'top_logprobs'>

/** Reads `logprobsResult` of a candidate: the chosen tokens, and in the same order the most likely tokens at each position. */
export function googleLogprobs(result: unknown): TokenLogprob[] {
  if (!isObject(result) || !Array.isArray(result.chosenCandidates)) return []
  const tops = Array.isArray(result.topCandidates) ? result.topCandidates : []
  return result.chosenCandidates.flatMap((chosen, index) => {
    const top = isObject(tops[index]) && Array.isArray(tops[index].candidates) ? tops[index].candidates : []
    return toToken(chosen).map((token) => ({ ...token, top_logprobs: top.flatMap(toToken) }))
  })
}

function toToken(value: unknown): Token[] {
  if (!isObject(value) || typeof value.token !== 'string' || typeof value.logProbability !== 'number')
    return []
  return [{ token: value.token, logprob: value.logProbability, bytes: [...Buffer.from(value.token)] }]
}
