import { type AnyRoute, createRoute } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { lazyPart } from '../api/lazy-part.ts'

type Load<Name extends string> = () => Promise<Record<Name, () => ReactNode>>

const lazyPage = <Name extends string>(load: Load<Name>, name: Name) =>
  lazyPart(async () => (await load())[name])

/** A page loaded when it is opened: `name` is its component. */
export const page = <Parent extends AnyRoute, const Path extends string, Name extends string>(
  parent: Parent,
  path: Path,
  load: Load<Name>,
  name: Name,
) => createRoute({ getParentRoute: () => parent, path, component: lazyPage(load, name) })

/** The same for a page with a query: `search` reads it, and leaves out what it does not know. */
export const searchPage = <
  Parent extends AnyRoute,
  const Path extends string,
  Name extends string,
  Search extends object,
>(
  parent: Parent,
  path: Path,
  search: (given: Record<string, unknown>) => Search,
  load: Load<Name>,
  name: Name,
) =>
  createRoute({
    getParentRoute: () => parent,
    path,
    validateSearch: search,
    component: lazyPage(load, name),
  })
