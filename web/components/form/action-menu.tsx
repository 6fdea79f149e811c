import { Menu, MenuItem, Popover } from 'react-aria-components'
import type { OpenPopover } from '../layout/popover-button.tsx'
import type { RowAction } from './row-menu.tsx'

/** The open menu of a RowMenu. */
export function ActionMenu(
  props: OpenPopover & {
    about: string
    actions: readonly RowAction[]
    onChoose: (action: RowAction) => void
  },
) {
  const { about, actions, onChoose, ...popover } = props
  return (
    <Popover
      {...popover}
      aria-label={`Actions for ${about}`}
      className="switcher-menu w-auto min-w-40"
      placement="bottom end"
    >
      <Menu
        className="outline-none"
        aria-label={`Actions for ${about}`}
        autoFocus
        onClose={() => popover.onOpenChange(false)}
      >
        {actions.map((action) => (
          <MenuItem
            key={action.name}
            className="switcher-item data-disabled:cursor-not-allowed data-disabled:text-muted"
            textValue={action.name}
            isDisabled={action.why !== undefined}
            onAction={() => onChoose(action)}
          >
            <span className="stack-tight">
              {action.name}
              {action.why && <span className="text-xs text-muted">{action.why}</span>}
            </span>
          </MenuItem>
        ))}
      </Menu>
    </Popover>
  )
}
