import { type AnyRoute, createRoute, lazyRouteComponent } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { loadPart } from '../api/request.ts'

type Load<Name extends string> = () => Promise<Record<Name, () => ReactNode>>

/** A component of the router that is loaded when it is shown, with our own page where it cannot be. */
export const lazyPart = <Name extends string>(load: Load<Name>, name: Name) =>
  lazyRouteComponent(() => loadPart(load), name)

/** A page loaded when it is opened: `name` is its component. */
export const page = <Parent extends AnyRoute, const Path extends string, Name extends string>(
  parent: Parent,
  path: Path,
  load: Load<Name>,
  name: Name,
) => createRoute({ getParentRoute: () => parent, path, component: lazyPart(load, name) })

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
    component: lazyPart(load, name),
  })
