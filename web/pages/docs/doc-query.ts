import { queryOptions } from '@tanstack/react-query'
import { loadPart } from '../../api/request.ts'
import { DOC_PAGES, type DocPage } from '../../lib/docs/doc-pages.ts'

/** The Markdown of a page; it is part of the build. */
export const docQuery = ({ slug, load }: DocPage) =>
  queryOptions({
    queryKey: ['docs', slug],
    queryFn: async () => (await loadPart(load)).default,
    staleTime: Number.POSITIVE_INFINITY,
  })

export const findDoc = (slug: string | undefined): DocPage | undefined =>
  DOC_PAGES.find((page) => page.slug === slug)
