import { readStored, writeStored } from './storage.ts'

/** A page as it was filtered, sorted and named. */
export interface SavedView {
  name: string
  /** Of its address: `?days=7&status=failed`. */
  query: string
}

const VIEWS_MAX = 30
export const VIEW_NAME_MAX = 60

const storedAs = (page: string, owner: string): string => `shuntyard-views ${page} ${owner}`

/** The views of a page that this browser keeps for an account or an operator, by name. */
export function savedViews(page: string, owner: string): SavedView[] {
  try {
    const views: unknown = JSON.parse(readStored(storedAs(page, owner)) ?? '[]')
    return Array.isArray(views) ? views.filter(isView) : []
  } catch {
    // Written by something else.
    return []
  }
}

const isView = (view: unknown): view is SavedView =>
  typeof view === 'object' &&
  view !== null &&
  typeof (view as SavedView).name === 'string' &&
  typeof (view as SavedView).query === 'string'

/** Keeps a view in place of one of its name. `query` null: forgets it. */
export function keepView(page: string, owner: string, name: string, query: string | null): SavedView[] {
  const others = savedViews(page, owner).filter((view) => view.name !== name)
  const kept = query === null ? others : [...others, { name, query }]
  const views = kept.slice(-VIEWS_MAX).toSorted((a, b) => a.name.localeCompare(b.name))
  writeStored(storedAs(page, owner), JSON.stringify(views))
  return views
}
