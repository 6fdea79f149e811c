import { type InfiniteData, infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import type { Page } from '../../src/core/api/shared.ts'
import { queryString, readJson } from './request.ts'

/**
 * A read of one route. Its path is its key in the cache: a change makes stale every read whose path begins with one that
 * it names.
 */
export const readOf = <T extends object>(path: string, refetchInterval: number | false = false) =>
  queryOptions({
    queryKey: [path] as readonly string[],
    queryFn: ({ signal, client, queryKey }) => readJson(path, client.getQueryData<T>(queryKey), signal),
    // As it came: what was read before is told apart from what has changed by being the same.
    structuralSharing: false,
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
    queryFn: ({ pageParam: cursor, signal, client, queryKey }) => {
      const known = client.getQueryData<InfiniteData<Page<T>, string | null>>(queryKey)
      const index = known?.pageParams.indexOf(cursor) ?? -1
      return readJson(path + queryString({ ...parameters, cursor }), known?.pages[index], signal)
    },
    structuralSharing: false,
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 1) > 1 ? false : refetchMs),
  })

/** Whether a read is of a path that begins so. */
export const isRead =
  (prefix: string) =>
  ({ queryKey }: { queryKey: readonly unknown[] }): boolean =>
    String(queryKey[0]).startsWith(prefix)
