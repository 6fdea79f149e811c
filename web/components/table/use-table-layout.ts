import { type RefObject, useEffect, useLayoutEffect, useState } from 'react'

/** Below, rows are cards in any case. */
const CARDS_BELOW_PX = 560
/** From here on a table that is wider than its region scrolls sideways, with its actions in sight. */
const TABLE_FROM_PX = 960

type Layout = 'cards' | 'table'

/**
 * Chooses how a table is laid out: `data-layout` is `cards` where its columns have no room, and else `table`, with
 * `data-overflow` while it is wider than the region, which one of planned columns never is. Measured, since what has room depends on the content.
 * @returns the layout to begin with: where a window has room for cards only, its first paint has them
 */
export function useTableLayout(region: RefObject<HTMLElement | null>): Layout {
  const [first] = useState<Layout>(() => (window.innerWidth < CARDS_BELOW_PX ? 'cards' : 'table'))
  useLayoutEffect(() => {
    if (region.current) layOut(region.current)
  })
  useEffect(() => {
    const element = region.current
    if (!element) return
    let width = element.clientWidth
    let frame = 0
    const observer = new ResizeObserver(() => {
      if (element.clientWidth === width && !isCut(element)) return
      width = element.clientWidth
      // Not within the observer, which would observe the new height at once.
      cancelAnimationFrame(frame)
      frame = requestAnimationFrame(() => layOut(element))
    })
    observer.observe(element)
    // It may become wider than it was when it was measured.
    if (element.firstElementChild) observer.observe(element.firstElementChild)
    // The font may come after the first measurement.
    void document.fonts.ready.then(() => layOut(element))
    return () => {
      cancelAnimationFrame(frame)
      observer.disconnect()
    }
  }, [region])
  return first
}

/** A table that has outgrown its region. */
const isCut = ({ dataset, scrollWidth, clientWidth }: HTMLElement): boolean =>
  dataset.layout === 'table' && dataset.overflow === undefined && scrollWidth > clientWidth

function layOut(region: HTMLElement): void {
  const { clientWidth } = region
  if (clientWidth === 0) return
  // Measured as a table only where that decides: each change of the layout draws the rows again.
  let isTooWide = true
  if (clientWidth >= CARDS_BELOW_PX) {
    region.dataset.layout = 'table'
    isTooWide = region.scrollWidth > clientWidth
  }
  const isPlanned = region.querySelector(':scope > .table-planned') !== null
  const isCards = isTooWide && (isPlanned || clientWidth < TABLE_FROM_PX)
  if (isCards) region.dataset.layout = 'cards'
  const overflows = isTooWide && !isCards
  region.toggleAttribute('data-overflow', overflows)
  // What scrolls must be reachable by keyboard.
  region.tabIndex = overflows ? 0 : -1
}
