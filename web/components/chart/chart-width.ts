import { type RefObject, useEffect, useState } from 'react'

/** The width of an element in pixels, also after it changes; 0 before it is known. */
export function useWidth(element: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0)
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(entry?.contentRect.width ?? 0))
    observer.observe(element.current!)
    return () => observer.disconnect()
  }, [element])
  return width
}

let measuring: CanvasRenderingContext2D | null | undefined

/** The width of a label in pixels. */
export function textWidth(text: string): number {
  measuring ??= document.createElement('canvas').getContext('2d')
  if (!measuring) return 7 * text.length
  measuring.font = `12px ${getComputedStyle(document.body).fontFamily}`
  return measuring.measureText(text).width
}
