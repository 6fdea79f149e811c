import { useQuery } from '@tanstack/react-query'
import { modelsQuery, sessionQuery } from '../api/queries.ts'
import { DOC_PAGES } from '../lib/docs/doc-pages.ts'
import { docSearch } from '../lib/docs/doc-search.ts'
import { searchModels } from '../lib/models/model-search.ts'
import type { FramePage } from './command-palette.tsx'

/** Something to go to. */
export interface PaletteItem {
  group: 'Pages' | 'Docs' | 'Models'
  name: string
  detail?: string
  /** Its path in the console. */
  href: string
}

const DOCS_MAX = 8
const MODELS_MAX = 6

const SITE_PAGES: PaletteItem[] = [
  { group: 'Pages', name: 'Models', href: '/models' },
  { group: 'Pages', name: 'Compare models', href: '/models/compare' },
  { group: 'Pages', name: 'Docs', href: '/docs' },
  { group: 'Pages', name: 'API reference', href: '/docs/api' },
  { group: 'Pages', name: 'Provider status', href: '/status' },
]
const GUEST_PAGES: PaletteItem[] = [
  { group: 'Pages', name: 'Sign in', href: '/sign-in' },
  { group: 'Pages', name: 'Sign up', href: '/sign-up' },
]
const ACCOUNT: PaletteItem[] = [{ group: 'Pages', name: 'Dashboard', href: '/dashboard' }]

/** The index of the docs, made once. */
const docsQuery = {
  queryKey: ['docs', 'search'],
  queryFn: async () => {
    const pages = DOC_PAGES.map(async ({ slug, title, load }) => ({
      slug,
      title,
      markdown: (await load()).default,
    }))
    return docSearch(await Promise.all(pages))
  },
  staleTime: Number.POSITIVE_INFINITY,
}

/** What fits what was typed; without a text every page. */
export function usePaletteItems(
  typed: string,
  framePages: readonly FramePage[],
): { items: PaletteItem[]; isLoading: boolean } {
  const { data: session } = useQuery(sessionQuery)
  const docs = useQuery(docsQuery)
  const models = useQuery({ ...modelsQuery, enabled: typed.length > 1 })
  const frame = framePages.map(({ to, name }): PaletteItem => ({ group: 'Pages', name, href: to }))
  const own = frame.length > 0 ? frame : session ? ACCOUNT : GUEST_PAGES
  const others = SITE_PAGES.filter(({ href }) => own.every((page) => page.href !== href))
  const pages = [...own, ...others].filter(({ name }) => fits(name, typed))
  if (typed === '') return { items: [...pages, ...DOC_PAGES.map(docItem)], isLoading: false }
  const found = docs.data?.(typed, DOCS_MAX) ?? []
  const sections = found.map(
    ({ slug, hash, page, heading }): PaletteItem => ({
      group: 'Docs',
      name: heading,
      ...(heading !== page && { detail: page }),
      href: `/docs/${slug}${hash && `#${hash}`}`,
    }),
  )
  const catalog = models.data ? [...searchModels(models.data.models, typed)] : []
  const best = catalog.sort(([, one], [, other]) => one - other).slice(0, MODELS_MAX)
  const modelItems = best.map(
    ([{ id, name }]): PaletteItem => ({ group: 'Models', name, detail: id, href: `/models/${id}` }),
  )
  return { items: [...pages, ...sections, ...modelItems], isLoading: docs.isLoading || models.isLoading }
}

const docItem = ({ slug, title, about }: (typeof DOC_PAGES)[number]): PaletteItem => ({
  group: 'Docs',
  name: title,
  detail: about,
  href: `/docs/${slug}`,
})

/** Whether each word that was typed begins a word of the name. */
function fits(name: string, typed: string): boolean {
  const words = name.toLowerCase().split(/\W+/)
  return typed
    .toLowerCase()
    .split(/\W+/)
    .every((part) => words.some((word) => word.startsWith(part)))
}
