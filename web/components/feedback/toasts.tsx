import { Suspense, useEffect } from 'react'
import { lazyPart } from '../../api/lazy-part.ts'
import { loadPart } from '../../api/request.ts'

let startLoading: () => void = () => undefined
const isNeeded = new Promise<void>((resolve) => {
  startLoading = resolve
})

const load = () => import('./toast-region.tsx')

const ToastRegion = lazyPart(async () => {
  await isNeeded
  return (await load()).ToastRegion
})

/** Confirms an action; screen readers read it out, and it disappears by itself. */
export function showToast(message: string): void {
  startLoading()
  // Where it cannot be loaded, the region shows our own page instead.
  loadPart(load).then(({ addToast }) => addToast(message), reportError)
}

const INPUTS = ['pointerover', 'pointerdown', 'keydown'] as const

/**
 * Where toasts appear; once a page. They come with the component library, which a first load does without: it is
 * loaded at the first input, so that it is there when a dialog, a menu or a toast opens.
 */
export function Toasts() {
  useEffect(() => {
    for (const input of INPUTS) window.addEventListener(input, () => startLoading(), { once: true })
  }, [])
  return (
    <Suspense fallback={null}>
      <ToastRegion />
    </Suspense>
  )
}
