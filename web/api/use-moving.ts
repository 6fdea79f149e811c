import { type UseQueryOptions, type UseQueryResult, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { OfferView, ProviderView } from '../../src/core/api/offers.ts'
import type { List } from '../../src/core/api/shared.ts'
import { offersAt, providersAt } from '../lib/moving-figures.ts'
import { movingOffersQuery, movingProvidersQuery, offersQuery, providersQuery } from './operator-queries.ts'

/** Providers with their current metrics; only the metrics that change often are polled. */
export function useProviders(): UseQueryResult<List<ProviderView>> {
  return useMerged(providersQuery, movingProvidersQuery, providersAt)
}

/** The offers of a provider or model with their current metrics. */
export function useOffers(of: { provider: string } | { model: string }): UseQueryResult<List<OfferView>> {
  return useMerged(offersQuery(of), movingOffersQuery(of), offersAt)
}

type Read<T> = UseQueryOptions<List<T>, Error, List<T>, readonly string[]>

function useMerged<T, Moving>(
  all: Read<T>,
  moving: Read<Moving>,
  merge: (rows: T[], moving: Moving[]) => T[],
): UseQueryResult<List<T>> {
  const query = useQuery(all)
  const { data } = query
  const { data: figures, dataUpdatedAt } = useQuery(moving)
  // The later of the two responses is current.
  const isNewer = dataUpdatedAt >= query.dataUpdatedAt
  const merged = useMemo(
    () => (data && figures && isNewer ? { ...data, data: merge(data.data, figures.data) } : data),
    [data, figures, isNewer, merge],
  )
  return { ...query, data: merged } as UseQueryResult<List<T>>
}
