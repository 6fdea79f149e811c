import type { ReactNode } from 'react'

/** A list to pick from in a dialog, at most half as high as the window. */
export const PickList = ({ children }: { children: ReactNode }) => (
  <ul className="max-h-[50dvh] divide-y divide-line overflow-y-auto rounded-md border border-line">
    {children}
  </ul>
)

/** A line of a PickList: its name, a second line in small type, and as `children` what else is done with it. */
export const PickRow = (props: {
  name: ReactNode
  second?: ReactNode
  onPick: () => void
  children?: ReactNode
}) => (
  <li className="flex items-center">
    <button
      type="button"
      className="grid min-w-0 flex-1 cursor-pointer bg-transparent px-4 py-2 text-left hover:bg-sunken"
      onClick={props.onPick}
    >
      {props.name}
      {props.second && <span className="truncate text-sm text-muted">{props.second}</span>}
    </button>
    {props.children}
  </li>
)
