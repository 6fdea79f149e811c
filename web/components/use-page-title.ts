import { type RefObject, useEffect, useRef } from 'react'

/** Not on the page a visit begins with: there the browser's own place for the focus is right. */
let hasNavigated = false

/** Called by the router's layout once a navigation has begun. */
export function noteNavigation(): void {
  hasNavigated = true
}

/**
 * Names the page in the browser's title, and moves the focus to its heading after a navigation, so that screen
 * readers and keyboards begin where the new page does. The ref belongs on the h1, with tabIndex -1.
 */
export function usePageTitle(title: string): RefObject<HTMLHeadingElement | null> {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${title} · Switchyard`
  }, [title])
  useEffect(() => {
    if (hasNavigated) heading.current?.focus({ preventScroll: true })
  }, [])
  return heading
}
