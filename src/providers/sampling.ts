import type { ProviderQuirks, SamplingParameter } from '../core/catalog/catalog.ts'
import type { AttemptRequest } from './provider.ts'

/**
 * The sampling parameters as model and provider take them: none that the model refuses, within the provider's
 * range, and one of them where it takes one.
 * @param wire how every provider of the wire differs, unless it says otherwise
 */
export function samplingFor(
  { offer, parameters }: AttemptRequest,
  wire: ProviderQuirks = {},
): { temperature: number | undefined; topP: number | undefined } {
  const { temperatureMax = Number.POSITIVE_INFINITY, oneSamplingParameter } = {
    ...wire,
    ...offer.provider.quirks,
  }
  const given = (name: SamplingParameter) =>
    offer.refusedSampling?.includes(name) ? undefined : parameters[name]
  const temperature = given('temperature')
  return {
    temperature: temperature === undefined ? undefined : Math.min(temperature, temperatureMax),
    topP: oneSamplingParameter && temperature !== undefined ? undefined : given('top_p'),
  }
}
