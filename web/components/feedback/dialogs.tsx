import { type ReactNode, Suspense, useState } from 'react'
import { lazyPart } from '../../api/lazy-part.ts'
import { Button } from '../form/button.tsx'
import { Form, type FormContent, type FormOptions, formContent, Submit, useForm } from '../form/form.tsx'
import { CopyButton } from '../text/copy.tsx'
import type { DialogProps } from './dialog-window.tsx'
import { Note } from './messages.tsx'

const DialogWindow = lazyPart(async () => (await import('./dialog-window.tsx')).DialogWindow)

/**
 * A dialog over the page, open while it is rendered: it takes the focus, keeps it, and gives it back. `sticky`: it
 * closes by its own buttons only, because what it shows cannot be shown again.
 */
export const DialogBox = (props: DialogProps) => (
  <Suspense fallback={null}>
    <DialogWindow {...props} />
  </Suspense>
)

interface AskingProps<Result> {
  title: string
  onClose: () => void
  /** What is shown once the change is made, until that is closed; without, or where it is null, the dialog closes. */
  then?: (result: Result, close: () => void) => ReactNode
}

/** A form in a dialog. `submit` and `pending` are the texts of its button, before and while the request runs. */
export function FormDialog<Name extends string, Result>(
  props: FormOptions<Name, Result> &
    FormContent<Name> &
    AskingProps<Result> & {
      submit: string
      pending?: string
      kind?: 'primary' | 'danger'
      /** Shown below the fields. */
      foot?: ReactNode
      role?: 'alertdialog'
      wide?: boolean | undefined
      /** False while what it asks about is not known yet, so that it cannot be sent. */
      isReady?: boolean | undefined
    },
) {
  const { title, submit, pending, kind = 'primary', onClose, children, foot, then, ...more } = props
  const { role = 'dialog', wide = false, isReady = true, ...options } = more
  const [next, setNext] = useState<ReactNode>(null)
  const form = useForm<Name, Result>({
    ...options,
    name: title,
    onDone: (result) => {
      options.onDone?.(result)
      const shown = then?.(result, onClose)
      if (shown) setNext(shown)
      else onClose()
    },
  })
  if (next) return next
  return (
    <DialogBox title={title} onClose={onClose} role={role} className={wide ? WIDE : ''}>
      <Form form={form}>
        {formContent(form, options.fields, children)}
        {foot}
        <div className="row justify-end">
          <Button onClick={onClose}>Cancel</Button>
          <Submit form={form} kind={kind} pending={pending} disabled={!isReady}>
            {submit}
          </Submit>
        </div>
      </Form>
    </DialogBox>
  )
}

/** Asks before a change, makes it, and closes. */
export function ConfirmDialog<Result>(
  props: Omit<FormOptions<never, Result>, 'fields' | 'name'> &
    AskingProps<Result> & {
      confirm: string
      /** `primary` for a change that does no harm. */
      kind?: 'primary' | 'danger'
      children: ReactNode
      wide?: boolean
      isReady?: boolean
    },
) {
  const { confirm, kind = 'danger', ...asking } = props
  return <FormDialog {...asking} submit={confirm} kind={kind} fields={{}} role="alertdialog" />
}

const WIDE = 'w-[min(100%,42rem)]'

/** The one time that a secret is shown. It closes by its own button only. */
export function SecretDialog(props: {
  title: string
  secret: string
  of: string
  copy: string
  warning: string
  onClose: () => void
  children?: ReactNode
  wide?: boolean
}) {
  const { title, secret, of, copy, warning, onClose, children, wide = false } = props
  return (
    <DialogBox title={title} onClose={onClose} sticky className={wide ? WIDE : ''}>
      <Note tone="warn">{warning}</Note>
      <div className="secret row rounded-md border border-dashed border-line-strong bg-page px-4 py-3">
        <code className="flex-[1_1_14rem] wrap-anywhere whitespace-pre-line">{secret}</code>
        <CopyButton text={secret} of={of} label={copy} />
      </div>
      {children}
      <div className="row justify-end">
        <Button kind="primary" onClick={onClose}>
          Done
        </Button>
      </div>
    </DialogBox>
  )
}
