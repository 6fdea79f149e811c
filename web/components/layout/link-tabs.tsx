import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'

/** What the `tab` of an address has for a part of a page: the last word of its name. */
const tabOf = (name: string) => name.toLowerCase().replace(/.* /, '')

/** The parts of a page by name; the first is that of an address without `tab`. False leaves a part out. */
export function LinkTabs(props: {
  label: string
  tab: string | undefined
  parts: Readonly<Record<string, ReactNode>>
}) {
  const { label, tab, parts } = props
  const names = Object.keys(parts).filter((name) => parts[name] !== false)
  const selected = names.find((name) => tabOf(name) === tab) ?? names[0] ?? ''
  return (
    <>
      <nav className="-mb-2 border-b border-line" aria-label={label}>
        <ul className="flex flex-wrap gap-x-6">
          {names.map((name, index) => (
            <li key={name}>
              <Link
                to="."
                search={index === 0 ? {} : { tab: tabOf(name) }}
                className="inline-flex min-h-10 items-center border-b-2 border-transparent whitespace-nowrap text-soft no-underline hover:text-ink focus-visible:-outline-offset-2 data-[selected=true]:border-ink data-[selected=true]:font-medium data-[selected=true]:text-ink"
                activeOptions={{ exact: true }}
                data-selected={name === selected}
              >
                {name}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      {parts[selected]}
    </>
  )
}
