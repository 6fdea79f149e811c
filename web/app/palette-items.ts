import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Permission } from '../../src/core/accounts/member-permissions.ts'
import { accountsQuery, operatorSessionQuery } from '../api/operator-queries.ts'
import { keysQuery, modelsQuery, sessionQuery } from '../api/queries.ts'
import { useSettledText } from '../components/form/search-field.tsx'
import { isCallId } from '../lib/calls/call-filters.ts'
import { DOC_PAGES } from '../lib/docs/doc-pages.ts'
import { docSearch } from '../lib/docs/doc-search.ts'
import { searchModels } from '../lib/models/model-search.ts'
import { useChosenAccount } from './choose-account.ts'
import type { FramePage } from './shortcuts.ts'
import { THEMES, useTheme } from './theme.tsx'

/** Something to go to or to do. */
export interface PaletteItem {
  group: 'Calls' | 'Accounts' | 'Keys' | 'Actions' | 'Pages' | 'Docs' | 'Models'
  name: string
  detail?: string | undefined
  /** Its path in the console, or what happens instead. */
  href: string | (() => void)
}

const DOCS_MAX = 8
const FOUND_MAX = 6
/** Shorter texts are no ids, addresses or names to search for. */
const SEARCHED_LENGTH = 3

const itemOf = (
  group: PaletteItem['group'],
  name: string,
  href: PaletteItem['href'],
  detail?: string,
): PaletteItem => ({ group, name, href, detail })

const SITE_PAGES = [
  itemOf('Pages', 'Models', '/models'),
  itemOf('Pages', 'Compare models', '/models/compare'),
  itemOf('Pages', 'Docs', '/docs'),
  itemOf('Pages', 'API reference', '/docs/api'),
  itemOf('Pages', 'Provider status', '/status'),
]
const GUEST_PAGES = [itemOf('Pages', 'Sign in', '/sign-in'), itemOf('Pages', 'Sign up', '/sign-up')]
const ACCOUNT = [itemOf('Pages', 'Dashboard', '/dashboard')]

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

/** What is done on pages, by who may. */
const ACTIONS: ReadonlyArray<{ name: string; href: string; needs: Permission; ofOrganisation?: true }> = [
  { name: 'Create API key', href: '/keys?new=1', needs: 'keys' },
  { name: 'Top up', href: '/billing', needs: 'billing' },
  { name: 'Invite member', href: '/members?new=1', needs: 'members', ofOrganisation: true },
]

/**
 * What fits what was typed; without a text every page and action. `text`: the text as it is typed, and how it is set. Keys
 * are searched in the list of the account's; accounts with one request of operators, made when typing pauses.
 */
export function usePaletteItems(framePages: readonly FramePage[], onShortcuts: () => void) {
  const [settled, setSettled] = useState('')
  const text = useSettledText(settled, setSettled)
  const typed = text[0].trim()
  const isOperator = framePages[0]?.to.startsWith('/admin') ?? false
  const docs = useQuery(docsQuery)
  const models = useQuery({ ...modelsQuery, enabled: typed.length > 1 })
  const own = useOwnItems(typed, settled, isOperator)
  const actions = [...own.actions, ...useCommonActions(onShortcuts)]
  const fitting = actions.filter(({ name, detail = '' }) => fits(`${name} ${detail}`, typed))
  const frame = framePages.map(({ to, name }) => itemOf('Pages', name, to))
  const near = frame.length > 0 ? frame : own.isSignedIn ? ACCOUNT : GUEST_PAGES
  const others = SITE_PAGES.filter(({ href }) => near.every((page) => page.href !== href))
  const pages = [...near, ...others].filter(({ name }) => fits(name, typed))
  const docPages = DOC_PAGES.map(({ slug, title, about }) => itemOf('Docs', title, `/docs/${slug}`, about))
  if (typed === '') return { text, items: [...pages, ...fitting, ...docPages], isLoading: false }
  const found = docs.data?.(typed, DOCS_MAX) ?? []
  const sections = found.map(({ slug, hash, page, heading }) =>
    itemOf('Docs', heading, `/docs/${slug}${hash && `#${hash}`}`, heading === page ? undefined : page),
  )
  const catalog = models.data ? [...searchModels(models.data.models, typed)] : []
  const best = catalog.sort(([, one], [, other]) => one - other).slice(0, FOUND_MAX)
  const modelItems = best.map(([{ id, name }]) => itemOf('Models', name, `/models/${id}`, id))
  return {
    text,
    items: [...own.found, ...fitting, ...pages, ...sections, ...modelItems, ...own.further],
    isLoading: docs.isLoading || models.isLoading || own.isLoading,
  }
}

/** What only the signed-in customer, or the operator, has: actions, and what an id, an address or a name finds. */
function useOwnItems(typed: string, settled: string, isOperator: boolean) {
  const { data: session } = useQuery(sessionQuery)
  const operator = useQuery({ ...operatorSessionQuery, enabled: isOperator }).data
  const may = (permission: Permission) => !isOperator && (session?.permissions.includes(permission) ?? false)
  const isSearched = typed.length >= SEARCHED_LENGTH
  const keys = useQuery({ ...keysQuery, enabled: isSearched && may('keys') })
  const accounts = useInfiniteQuery({
    ...accountsQuery(settled),
    enabled: isOperator && settled.length >= SEARCHED_LENGTH && !isCallId(settled),
  })
  const choose = useChosenAccount(undefined)
  const other = isOperator ? [] : (session?.accounts ?? []).filter(({ id }) => id !== session?.account.id)
  const actions: PaletteItem[] = [
    ...ACTIONS.filter(
      ({ needs, ofOrganisation }) => may(needs) && (!ofOrganisation || session?.account.is_organisation),
    ).map(({ name, href }) => itemOf('Actions', name, href)),
    ...other.map(({ id, name }) => itemOf('Actions', `Switch to ${name}`, () => choose.run(id), 'account')),
  ]
  if (operator?.permissions['accounts.write'].includes(operator.role))
    actions.push(itemOf('Actions', 'Create account', '/admin/accounts?new=1'))
  const [calls, list] = isOperator ? ['/admin/calls', '/admin/calls?q='] : ['/calls', '/usage?q=']
  const isFindable = isSearched && (isOperator || session != null)
  const lower = typed.toLowerCase()
  const fitting = isSearched ? (keys.data?.data ?? []) : []
  return {
    isSignedIn: session != null,
    isLoading: keys.isLoading || accounts.isLoading,
    actions,
    found: [
      ...(isFindable && isCallId(typed) ? [itemOf('Calls', typed, `${calls}/${typed}`)] : []),
      ...(isOperator && settled === typed ? (accounts.data?.pages[0]?.data ?? []) : [])
        .slice(0, FOUND_MAX)
        .map(({ id, name }) => itemOf('Accounts', name, `/admin/accounts/${id}`, id)),
      ...fitting
        .filter(({ id, name, hint }) => [id, name, hint].some((part) => part.toLowerCase().includes(lower)))
        .slice(0, FOUND_MAX)
        .map(({ id, name, hint }) => itemOf('Keys', name || hint, `/keys/${id}`, hint)),
    ],
    further:
      isFindable && !isCallId(typed)
        ? [itemOf('Calls', `Calls with “${typed}”`, list + encodeURIComponent(typed))]
        : [],
  }
}

function useCommonActions(onShortcuts: () => void): PaletteItem[] {
  const [theme, chooseTheme] = useTheme()
  return [
    ...THEMES.filter(({ value }) => value !== theme).map(({ value, name }) =>
      itemOf('Actions', `Theme: ${name.toLowerCase()}`, () => chooseTheme(value)),
    ),
    itemOf('Actions', 'Keyboard shortcuts', onShortcuts, '?'),
  ]
}

/** Whether each word that was typed begins a word of the name. */
function fits(name: string, typed: string): boolean {
  const words = name.toLowerCase().split(/\W+/)
  return typed
    .toLowerCase()
    .split(/\W+/)
    .every((part) => words.some((word) => word.startsWith(part)))
}
