import { useState } from 'react'

/** Rows of a table that are chosen by the checkboxes at its left edge. */
export interface RowSelection<T> {
  isChosen: (row: T) => boolean
  /** Others have a checkbox that is disabled. */
  mayChoose: (row: T) => boolean
  choose: (rows: readonly T[], chosen: boolean) => void
  /** The name of a row's checkbox. */
  nameOf: (row: T) => string
  /** Whether the header has a checkbox for all rows. */
  hasAll: boolean
}

/** What is chosen of a list, by id. `nameOf`: what a row is called; `mayChoose`: all rows unless given. */
export function useSelection<Row extends { id: string }>(
  rows: readonly Row[],
  nameOf: (row: Row) => string,
  mayChoose: (row: Row) => boolean = () => true,
) {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set())
  const isChosen = (row: Row) => ids.has(row.id) && mayChoose(row)
  const choose = (changed: readonly Row[], chosen: boolean) =>
    setIds((before) => {
      const after = new Set(before)
      for (const { id } of changed) chosen ? after.add(id) : after.delete(id)
      return after
    })
  const selection: RowSelection<Row> = {
    isChosen,
    mayChoose,
    choose,
    nameOf: (row) => `Select ${nameOf(row)}`,
    hasAll: true,
  }
  return { selection, chosen: rows.filter(isChosen), clear: () => setIds(new Set()) }
}

/** Chooses one row, or all that may be chosen: then it shows a dash while only some are. */
export function SelectBox(props: {
  name: string
  checked: boolean
  isPartly?: boolean
  disabled?: boolean
  onChange: (checked: boolean) => void
}) {
  const { name, checked, isPartly = false, disabled, onChange } = props
  return (
    <input
      ref={(box) => {
        if (box) box.indeterminate = isPartly
      }}
      type="checkbox"
      className="relative z-1 block size-4 accent-accent-fill"
      aria-label={name}
      checked={checked}
      disabled={disabled}
      onChange={({ target }) => onChange(target.checked)}
    />
  )
}
