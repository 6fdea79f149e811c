import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react'
import { FormError } from './form-error.tsx'

/**
 * A form: what was refused stands above its fields or beside the one it is about (`fields` names those), and the
 * focus goes to the first field that is wrong.
 */
export function Form(props: {
  error: Error | null
  fields?: readonly string[]
  onSubmit: () => void
  children: ReactNode
  className?: string
}) {
  const form = useRef<HTMLFormElement>(null)
  const [submits, setSubmits] = useState(0)
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new error, or the same one again after a submit
  useEffect(() => {
    if (submits > 0) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  }, [submits, props.error])
  const submit = (event: FormEvent) => {
    event.preventDefault()
    setSubmits(submits + 1)
    props.onSubmit()
  }
  return (
    <form ref={form} className={props.className ?? 'form'} onSubmit={submit} noValidate>
      <FormError error={props.error} fields={props.fields} />
      {props.children}
    </form>
  )
}
