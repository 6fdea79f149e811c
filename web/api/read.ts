import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import type { Page } from '../../src/core/api/shared.ts'
import { queryString, requestJson } from './request.ts'

/**
 * A read of one route. Its path is its key in the cache: a change makes stale every read whose path begins with one that
 * it names.
 */
export const readOf = <T>(path: string, refetchInterval: number | false = false) =>
  queryOptions({
    queryKey: [path] as readonly string[],
    queryFn: ({ signal }) => requestJson<T>('GET', path, undefined, signal),
    refetchInterval,
  })

/** A list read page by page; refetched, if ever, while only its first page is shown. */
export const pagesOf = <T>(
  path: string,
  parameters: Parameters<typeof queryString>[0] = {},
  refetchMs: number | false = false,
) =>
  infiniteQueryOptions({
    queryKey: [path + queryString(parameters)] as readonly string[],
    queryFn: ({ pageParam: cursor, signal }) =>
      requestJson<Page<T>>('GET', path + queryString({ ...parameters, cursor }), undefined, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 1) > 1 ? false : refetchMs),
  })

/** Whether a read is of a path that begins so. */
export const isRead =
  (prefix: string) =>
  ({ queryKey }: { queryKey: readonly unknown[] }): boolean =>
    String(queryKey[0]).startsWith(prefix)
