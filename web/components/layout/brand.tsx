import { Link } from '@tanstack/react-router'

/** The name of the service, which leads home: two tracks and the switch between them. */
export const Brand = () => (
  <Link to="/" className="line min-h-10 text-lg font-bold tracking-tight text-ink no-underline">
    <svg
      width="30"
      height="22"
      viewBox="0 0 30 22"
      fill="none"
      strokeWidth="2.4"
      strokeLinecap="round"
      aria-hidden="true"
    >
      <path d="M2 16h26M2 6h5" stroke="currentColor" />
      <path d="M9 16c7 0 6-10 13-10h6" stroke="var(--color-accent-fill)" />
      <circle cx="9" cy="16" r="2.6" fill="var(--color-accent-fill)" />
    </svg>
    <span className="max-sm:[.site-header_&]:hidden">Shuntyard</span>
    <span className="sr-only"> home</span>
  </Link>
)
