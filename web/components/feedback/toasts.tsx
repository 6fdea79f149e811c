import { type ComponentType, useEffect, useState } from 'react'
import { loadPart } from '../../api/request.ts'

const load = () => import('./toast-region.tsx')

/** Shows the region once it is loaded. */
let show: (Region: ComponentType) => void = () => undefined

async function loadRegion() {
  const part = await load()
  show(part.ToastRegion)
  return part
}

/** Confirms an action; screen readers read it out, and it disappears by itself. */
export function showToast(message: string): void {
  loadPart(loadRegion).then(({ addToast }) => addToast(message), reportError)
}

const INPUTS = ['pointerover', 'pointerdown', 'keydown'] as const

/**
 * Where toasts appear; once a page. They come with the component library, which a first load does without: it is
 * loaded at the first input, so that it is there when a dialog, a menu or a toast opens.
 */
export function Toasts() {
  const [Region, setRegion] = useState<ComponentType | null>(null)
  useEffect(() => {
    const inputs = new AbortController()
    show = (Loaded) => {
      inputs.abort()
      setRegion(() => Loaded)
    }
    // Without a connection nothing needs it yet, and the next input tries again.
    const preload = () => void loadRegion().catch(() => undefined)
    for (const input of INPUTS) window.addEventListener(input, preload, { signal: inputs.signal })
    return () => inputs.abort()
  }, [])
  return Region && <Region />
}
