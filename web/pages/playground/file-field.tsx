import { useId } from 'react'

/** A choice of files from this device. */
export function FileField(props: {
  label: string
  accept: string
  multiple?: boolean
  hint?: string
  onChange: (files: File[]) => void
}) {
  const { label, accept, multiple = false, hint, onChange } = props
  const id = useId()
  return (
    <div className="field stack content-start gap-1">
      <label className="text-sm font-medium" htmlFor={id}>
        {label}
      </label>
      <input
        id={id}
        type="file"
        className="input"
        accept={accept}
        multiple={multiple}
        aria-describedby={hint && `${id}-hint`}
        onChange={({ target }) => onChange([...(target.files ?? [])])}
      />
      {hint && (
        <span className="text-sm text-muted" id={`${id}-hint`}>
          {hint}
        </span>
      )}
    </div>
  )
}
