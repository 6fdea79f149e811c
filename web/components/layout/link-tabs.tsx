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
            className="page-tab"
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
