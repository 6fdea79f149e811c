import { type InfiniteData, infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import type { Page } from '../../src/core/api/shared.ts'
import { queryString, readJson } from './request.ts'

/**
 * A read of one route. The path is the key in the cache; a change invalidates every read whose path begins with one of
 * its `stale` prefixes.
 */
export const readOf = <T extends object>(path: string, refetchInterval: number | false = false) =>
  queryOptions({
    queryKey: [path] as readonly string[],
    queryFn: ({ signal, client, queryKey }) => readJson(path, client.getQueryData<T>(queryKey), signal),
    // The object is kept as it is: its identity shows whether a response changed, and finds its ETag.
    structuralSharing: false,
    refetchInterval,
  })

/**
 * A list read page by page. It is refetched only while just its first page is shown. `after`: the position behind a row,
 * of a list that is continued by `before`.
 */
export const pagesOf = <T>(
  path: string,
  parameters: Parameters<typeof queryString>[0] = {},
  refetchMs: number | false = false,
  after?: (last: T) => string,
) =>
  infiniteQueryOptions({
    queryKey: [path + queryString(parameters)] as readonly string[],
    queryFn: ({ pageParam: cursor, signal, client, queryKey }) => {
      const known = client.getQueryData<InfiniteData<Page<T>, string | null>>(queryKey)
      const index = known?.pageParams.indexOf(cursor) ?? -1
      return readJson(
        path + queryString({ ...parameters, [after ? 'before' : 'cursor']: cursor }),
        known?.pages[index],
        signal,
      )
    },
    structuralSharing: false,
    initialPageParam: null as string | null,
    getNextPageParam: ({ data, has_more, next_cursor }) =>
      after ? (has_more ? after(data.at(-1)!) : null) : next_cursor,
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 1) > 1 ? false : refetchMs),
  })

/** Whether the path of a read begins with a prefix. */
export const isRead =
  (prefix: string) =>
  ({ queryKey }: { queryKey: readonly unknown[] }): boolean =>
    String(queryKey[0]).startsWith(prefix)
