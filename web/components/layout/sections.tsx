import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'

/** The panels of a page in one narrow column, by the names of their sections, and links to these beside it. */
export function Sections({ of: sections }: { of: Readonly<Record<string, ReactNode>> }) {
  const names = Object.keys(sections)
  return (
    <div className="grid grid-cols-1 items-start gap-6 lg:grid-cols-[9rem_minmax(0,40rem)] lg:gap-8">
      <nav className="lg:sticky lg:top-[calc(var(--banner)+1rem)]" aria-label="Sections of this page">
        <ul className="flex flex-wrap gap-1 lg:grid">
          {names.map((name) => (
            <li key={name}>
              <Link
                to="."
                hash={idOf(name)}
                className="nav-link min-h-8 w-full"
                activeOptions={{ includeHash: true }}
              >
                {name}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      <div className="stack gap-8">
        {names.map((name) => (
          <section key={name} id={idOf(name)} aria-label={name} className="stack scroll-mt-20 gap-6">
            {sections[name]}
          </section>
        ))}
      </div>
    </div>
  )
}

const idOf = (name: string): string => name.toLowerCase().replaceAll(' ', '-')
