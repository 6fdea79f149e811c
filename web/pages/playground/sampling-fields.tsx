import type { ReactNode } from 'react'
import type { FieldSpec } from '../../components/form/form.tsx'
import { REASONING_EFFORTS, type SamplingSetting } from '../../lib/playground/chat-settings.ts'

const EFFORTS = [
  { value: '', name: 'Model default' },
  ...REASONING_EFFORTS.map((value) => ({ value, name: value })),
]

/** What a call says of its answer, as fields of a form; what is left empty is not sent. */
export const SAMPLING_FIELDS: Readonly<Record<SamplingSetting, FieldSpec>> = {
  system: { label: 'System prompt', rows: 3, placeholder: 'None', exact: true },
  temperature: { label: 'Temperature', inputMode: 'decimal', placeholder: 'Default' },
  top_p: { label: 'Top P', inputMode: 'decimal', placeholder: 'Default' },
  max_tokens: { label: 'Max output tokens', inputMode: 'numeric', placeholder: 'Model maximum' },
  seed: { label: 'Seed', inputMode: 'numeric', placeholder: 'None' },
  reasoning_effort: { label: 'Reasoning effort', options: EFFORTS },
  stop: { label: 'Stop sequences', hint: 'One per line, at most 4.', rows: 2, exact: true },
}

/** These fields in their order; `children` stand among the short ones. */
export const SamplingFields = (props: {
  input: (name: SamplingSetting) => ReactNode
  children?: ReactNode
}) => (
  <>
    {props.input('system')}
    <div className="columns gap-4 [--column:8.5rem]">
      {props.input('temperature')}
      {props.input('top_p')}
      {props.input('max_tokens')}
      {props.input('seed')}
      {props.input('reasoning_effort')}
      {props.children}
    </div>
    {props.input('stop')}
  </>
)
