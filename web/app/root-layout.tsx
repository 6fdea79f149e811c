import { Outlet, useRouter } from '@tanstack/react-router'
import { useEffect } from 'react'
import { noteNavigation } from '../components/use-page-title.ts'

/** Around every page: the way past the navigation, and the notice that a new page was opened. */
export function RootLayout() {
  const router = useRouter()
  useEffect(
    () =>
      router.subscribe('onBeforeNavigate', ({ fromLocation, pathChanged }) => {
        if (fromLocation && pathChanged) noteNavigation()
      }),
    [router],
  )
  return (
    <>
      <a href="#main" className="skip-link">
        Skip to the content
      </a>
      <Outlet />
    </>
  )
}
