import { Link } from '@tanstack/react-router'

/** The name of the service, which leads home: two tracks and the switch between them. */
export function Brand() {
  return (
    <Link to="/" className="brand">
      <svg
        width="30"
        height="22"
        viewBox="0 0 30 22"
        fill="none"
        strokeWidth="2.4"
        strokeLinecap="round"
        aria-hidden="true"
      >
        <path className="brand-track" d="M2 16h26M2 6h5" stroke="currentColor" />
        <path className="brand-switch" d="M9 16c7 0 6-10 13-10h6" stroke="currentColor" />
        <circle className="brand-switch" cx="9" cy="16" r="2.6" fill="currentColor" />
      </svg>
      <span className="brand-name">Switchyard</span>
      <span className="visually-hidden"> home</span>
    </Link>
  )
}
