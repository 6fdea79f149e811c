import { useState } from 'react'
import { RequestFailure } from '../../api/request.ts'
import { type Change, useChange } from '../../api/use-change.ts'

/** What is wrong with fields, by name. */
type Problems<Values> = { [Name in keyof Values]?: string | null }

interface FormOptions<Values, Result> extends Omit<Change<Values, Result>, 'send'> {
  /** The values of the fields, named as the API names them. */
  initial: Values
  check?: (values: Values) => Problems<Values>
  send: (values: Values) => Promise<Result> | undefined
}

/** What a Form needs of its state. */
export interface FormState {
  error: Error | null
  /** Whether the error is shown beside a field, and not above the form. */
  isFieldError: boolean
  isPending: boolean
  submit: () => void
}

/** The state of a form: its values, what is wrong with them after the first submit, and the request it sends. */
export function useForm<Values extends Record<string, string>, Result = unknown>(
  options: FormOptions<Values, Result>,
) {
  const { initial, check, send, ...change } = options
  const [values, setValues] = useState(initial)
  const [isChecked, setIsChecked] = useState(false)
  const { mutate, error, isPending } = useChange({
    ...change,
    send: async (sent: Values) => (await send(sent)) as Result,
  })
  const problems: Problems<Values> = check?.(values) ?? {}
  const param = error instanceof RequestFailure ? error.param : null
  return {
    values,
    error,
    isPending,
    isFieldError: param !== null && param in values,
    /** What a field shows and does. */
    field: (name: keyof Values & string) => ({
      value: values[name] ?? '',
      onChange: (text: string) => setValues((before) => ({ ...before, [name]: text })),
      error: (isChecked && problems[name]) || (param === name && error ? error.message : null),
    }),
    submit: () => {
      setIsChecked(true)
      if (Object.values(problems).every((problem) => !problem)) mutate(values)
    },
    reset: () => {
      setValues(initial)
      setIsChecked(false)
    },
  }
}
