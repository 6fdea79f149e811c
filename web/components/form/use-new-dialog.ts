import { useNavigate, useSearch } from '@tanstack/react-router'

/** Whether the dialog with which a page adds something is open, which its address says (`?new=1`), and what opens it. `given`: what the address has there. */
export function useNewDialog() {
  const search: { new?: string } = useSearch({ strict: false })
  const navigate = useNavigate()
  const show = (isOpen: boolean) =>
    void navigate({
      to: '.',
      search: (before: object) => ({ ...before, new: isOpen ? '1' : undefined }),
      replace: true,
      resetScroll: false,
    })
  return {
    given: search.new,
    isOpen: search.new !== undefined,
    open: () => show(true),
    close: () => show(false),
  }
}
