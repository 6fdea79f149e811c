import { useState } from 'react'
import { DialogBox } from '../components/feedback/dialogs.tsx'
import { CheckField } from '../components/form/fields.tsx'
import { readStored, writeStored } from '../lib/storage.ts'
import { LETTERS_STORED_AS, type PaletteProps, searchKeys } from './shortcuts.ts'

/** Every shortcut, and the switch of those that are letters, which speech input may type by mistake. */
export function ShortcutSheet({ framePages, onClose }: Pick<PaletteProps, 'framePages' | 'onClose'>) {
  const [isOn, setIsOn] = useState(readStored(LETTERS_STORED_AS) !== 'off')
  const pages = framePages.flatMap(({ letter, name }) => (letter ? [[name, `g ${letter}`] as const] : []))
  const rows = [['Search and actions', searchKeys()], ['This list', '?'], ...pages] as const
  return (
    <DialogBox title="Keyboard shortcuts" onClose={onClose}>
      <dl className="grid grid-cols-[1fr_auto] gap-x-6 gap-y-2">
        {rows.map(([name, keys]) => (
          <div key={name} className="contents">
            <dt>{name}</dt>
            <dd className="row gap-1">
              {keys.split(' ').map((key) => (
                <kbd key={key} className="badge font-mono">
                  {key}
                </kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
      <CheckField
        label="Letters and ? work by themselves"
        checked={isOn}
        onChange={(on) => {
          setIsOn(on)
          writeStored(LETTERS_STORED_AS, on ? null : 'off')
        }}
      />
    </DialogBox>
  )
}
