import type { ProviderQuirks } from '../../src/core/catalog.ts'
import type { SamplingParameters } from '../../src/core/chat-request.ts'

/** The sampling parameters as a provider takes them: within its range, and one of them where it takes one. */
export function samplingFor(
  { temperature, top_p: topP }: SamplingParameters,
  { temperatureMax = Number.POSITIVE_INFINITY, oneSamplingParameter }: ProviderQuirks,
): { temperature: number | undefined; topP: number | undefined } {
  return {
    temperature: temperature === undefined ? undefined : Math.min(temperature, temperatureMax),
    topP: oneSamplingParameter && temperature !== undefined ? undefined : topP,
  }
}
