import { Link } from '@tanstack/react-router'

/** The parts of a page, each with an address of its own. The first is that of the page without a `tab`. */
export const LinkTabs = <Name extends string>(props: {
  label: string
  tabs: ReadonlyArray<{ tab: Name; name: string }>
  selected: Name
}) => (
  <nav className="-mb-2 border-b border-line" aria-label={props.label}>
    <ul className="flex flex-wrap gap-x-6">
      {props.tabs.map(({ tab, name }, index) => (
        <li key={tab}>
          <Link
            to="."
            search={index === 0 ? {} : { tab }}
            className="inline-flex min-h-10 items-center border-b-2 border-transparent whitespace-nowrap text-soft no-underline hover:text-ink focus-visible:-outline-offset-2 data-[selected=true]:border-ink data-[selected=true]:font-medium data-[selected=true]:text-ink"
            activeOptions={{ exact: true }}
            data-selected={tab === props.selected}
          >
            {name}
          </Link>
        </li>
      ))}
    </ul>
  </nav>
)
