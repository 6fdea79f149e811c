import { type AsyncRouteComponent, lazyRouteComponent } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { loadPart } from './request.ts'

/** A component that is loaded when it is first shown, inside a Suspense; our own page where it cannot be loaded. */
export const lazyPart = <Props>(
  load: () => Promise<(props: Props) => ReactNode>,
): AsyncRouteComponent<Props> => lazyRouteComponent(async () => ({ default: await loadPart(load) }))
