import { useLocation, useRouter } from '@tanstack/react-router'
import { useEffect } from 'react'
import type { ChatSettings } from '../../lib/playground/chat-settings.ts'
import { readLinkFragment } from '../../lib/playground/playground-link.ts'

/** Takes the settings of a link once, when it is opened; from then on the address says nothing of them. */
export function useLinkedSettings(take: (settings: ChatSettings) => void): void {
  const router = useRouter()
  const { hash } = useLocation()
  // biome-ignore lint/correctness/useExhaustiveDependencies: the fragment alone decides
  useEffect(() => {
    const linked = readLinkFragment(hash)
    if (!linked) return
    take(linked)
    void router.navigate({ to: '/playground', replace: true })
  }, [hash])
}
