import { type ReactNode, Suspense, useState } from 'react'
import { lazyPart } from '../../api/lazy-part.ts'
import { type Change, useChange } from '../../api/use-change.ts'
import { Button } from '../form/button.tsx'
import { Form, type FormContent, type FormOptions, formContent, Submit, useForm } from '../form/form.tsx'
import { CopyButton } from '../text/copy.tsx'
import type { DialogProps } from './dialog-window.tsx'
import { ErrorNote, Note } from './messages.tsx'

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

/** The buttons at the end of a dialog. */
const DialogFoot = ({ onClose, children }: { onClose: () => void; children: ReactNode }) => (
  <div className="row justify-end">
    <Button onClick={onClose}>Cancel</Button>
    {children}
  </div>
)

interface AskingProps<Result> {
  title: string
  onClose: () => void
  /** What is shown once the change is made, until that is closed; without, or where it is null, the dialog closes. */
  then?: (result: Result, close: () => void) => ReactNode
}

/** What a dialog shows after its change, and how it continues. */
function useNext<Result>({
  onClose,
  then,
  onDone,
}: AskingProps<Result> & Pick<Change<void, Result>, 'onDone'>) {
  const [next, setNext] = useState<ReactNode>(null)
  const goOn = (result: Result) => {
    onDone?.(result)
    const shown = then?.(result, onClose)
    if (shown) setNext(shown)
    else onClose()
  }
  return [next, goOn] as const
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
    },
) {
  const { title, submit, pending, kind = 'primary', onClose, children, foot, then: _, ...options } = props
  const [next, onDone] = useNext(props)
  const form = useForm<Name, Result>({ ...options, name: title, onDone })
  if (next) return next
  return (
    <DialogBox title={title} onClose={onClose}>
      <Form form={form}>
        {formContent(form, options.fields, children)}
        {foot}
        <DialogFoot onClose={onClose}>
          <Submit form={form} kind={kind} pending={pending}>
            {submit}
          </Submit>
        </DialogFoot>
      </Form>
    </DialogBox>
  )
}

interface ConfirmDialogProps<Result> extends Change<void, Result>, AskingProps<Result> {
  confirm: string
  /** `primary` for a change that does no harm. */
  kind?: 'primary' | 'danger'
  children: ReactNode
  wide?: boolean
  /** False while what it asks about is not known yet, so that it cannot be confirmed. */
  isReady?: boolean
}

/** Asks before a change, makes it, and closes. */
export function ConfirmDialog<Result>(props: ConfirmDialogProps<Result>) {
  const {
    title,
    confirm,
    kind = 'danger',
    onClose,
    children,
    wide,
    isReady = true,
    then: _,
    ...change
  } = props
  const [next, onDone] = useNext(props)
  const { mutate, isPending, error } = useChange({ ...change, onDone })
  if (next) return next
  return (
    <DialogBox title={title} onClose={onClose} role="alertdialog" className={wide ? WIDE : ''}>
      {children}
      <ErrorNote error={error} />
      <DialogFoot onClose={onClose}>
        <Button kind={kind} disabled={isPending || !isReady} onClick={() => mutate()}>
          {isPending ? 'Saving …' : confirm}
        </Button>
      </DialogFoot>
    </DialogBox>
  )
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
        <code className="flex-[1_1_14rem] wrap-anywhere">{secret}</code>
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
