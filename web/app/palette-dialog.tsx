import { useRouter } from '@tanstack/react-router'
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react'
import { DialogBox } from '../components/feedback/dialogs.tsx'
import { type PaletteItem, usePaletteItems } from './palette-items.ts'
import type { PaletteProps } from './shortcuts.ts'

/** Searches what there is to go to and to do, and does what is chosen: with the arrow keys and Enter, or by a click. */
export function PaletteDialog({ framePages, onShortcuts, onClose }: PaletteProps) {
  const router = useRouter()
  const id = useId()
  const [at, setAt] = useState(0)
  const { text, items, isLoading } = usePaletteItems(framePages, onShortcuts)
  const [typed, setTyped] = text
  const chosen = Math.min(at, items.length - 1)
  const list = useRef<HTMLDivElement>(null)
  useEffect(() => {
    list.current?.querySelector(`[id="${id}-${chosen}"]`)?.scrollIntoView({ block: 'nearest' })
  }, [chosen, id])
  const go = (item: PaletteItem | undefined) => {
    if (!item) return
    if (typeof item.href === 'string') void router.navigate({ href: item.href })
    else item.href()
    onClose()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 }
    const step = steps[event.key]
    if (event.key === 'Enter') go(items[chosen])
    else if (step !== undefined) setAt((chosen + step + items.length) % Math.max(items.length, 1))
    else return
    event.preventDefault()
  }
  return (
    <DialogBox title="Search" className="self-start sm:mt-[10vh]" onClose={onClose}>
      <input
        className="input"
        type="search"
        role="combobox"
        aria-label="Search or act"
        aria-expanded={items.length > 0}
        aria-controls={`${id}-list`}
        aria-activedescendant={items.length > 0 ? `${id}-${chosen}` : undefined}
        aria-autocomplete="list"
        autoComplete="off"
        spellCheck={false}
        placeholder="Pages, actions, IDs, names, docs, models"
        // biome-ignore lint/a11y/noAutofocus: the dialog is there to type into
        autoFocus
        value={typed}
        onChange={(event) => {
          setTyped(event.target.value)
          setAt(0)
        }}
        onKeyDown={onKeyDown}
      />
      <p className="sr-only" role="status">
        {isLoading ? 'Searching …' : items.length === 0 ? 'Nothing found' : `${items.length} found`}
      </p>
      {items.length === 0 && <p className="text-muted">{isLoading ? 'Searching …' : 'Nothing found.'}</p>}
      <div
        ref={list}
        id={`${id}-list`}
        role="listbox"
        aria-label="Found"
        className="max-h-[min(26rem,55dvh)] overflow-y-auto"
      >
        {groupsOf(items).map(([group, members]) => (
          // biome-ignore lint/a11y/useSemanticElements: a group of options, not of fields
          <div key={group} role="group" aria-label={group}>
            <p className="px-3 pt-2 text-xs font-medium text-muted" aria-hidden="true">
              {group}
            </p>
            {members.map(({ item, index }) => (
              // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the keys
              <div
                key={`${item.name} ${item.detail}`}
                id={`${id}-${index}`}
                role="option"
                tabIndex={-1}
                aria-selected={index === chosen}
                className="flex cursor-pointer items-baseline justify-between gap-4 rounded-md px-3 py-2 aria-selected:bg-accent-soft"
                onClick={() => go(item)}
                onPointerMove={() => setAt(index)}
              >
                <span className="min-w-0 truncate">{item.name}</span>
                {item.detail && <span className="min-w-0 truncate text-sm text-muted">{item.detail}</span>}
              </div>
            ))}
          </div>
        ))}
      </div>
    </DialogBox>
  )
}

/** The items by their groups, in order, each with its place in the whole list. */
function groupsOf(items: readonly PaletteItem[]) {
  const groups = new Map<string, Array<{ item: PaletteItem; index: number }>>()
  for (const [index, item] of items.entries())
    groups.set(item.group, [...(groups.get(item.group) ?? []), { item, index }])
  return [...groups]
}
