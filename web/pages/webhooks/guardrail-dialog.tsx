import type { GuardrailBody, GuardrailSet, GuardrailView } from '../../../src/core/api/guardrails.ts'
import { requestJson } from '../../api/request.ts'
import { FormDialog } from '../../components/feedback/dialogs.tsx'
import type { SelectOption } from '../../components/form/fields.tsx'
import type { FieldSpec } from '../../components/form/form.tsx'
import { SigningSecret } from './webhook-panel.tsx'

export const GUARDRAILS = '/console/api/guardrails'
export const KINDS = { http: 'Own service', moderation: 'Moderation API', presidio: 'Presidio' }
export const POINTS = { prompt: 'Prompts', completion: 'Answers' }
export const FAILURES = { deny: 'Deny the call', allow: 'Let the call pass' }

export const optionsOf = (names: Record<string, string>): SelectOption[] =>
  Object.entries(names).map(([value, name]) => ({ value, name }))

const BEFORE = ['key_id', 'kind', 'url'] as const
const AFTER = ['points', 'may_replace', 'on_failure', 'timeout_ms'] as const
/** What a kind asks for between them. */
const FIELDS_OF_KIND = {
  http: [],
  moderation: ['secret', 'model', 'categories'],
  presidio: ['secret', 'entities', 'language', 'score_threshold'],
} as const

const list = (label: string, names: readonly string[] = []): FieldSpec => ({
  ...{ label, hint: 'Separated by commas. Leave empty for all.', initial: names.join(', ') },
})

const namesIn = (text: string): string[] =>
  text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')

/** Creates a guardrail for one of the keys, or changes that of the only one. */
export function GuardrailDialog(props: {
  guardrail?: GuardrailView
  keys: readonly SelectOption[]
  onClose: () => void
}) {
  const { guardrail, keys, onClose } = props
  const { points, settings = {} } = guardrail ?? {}
  return (
    <FormDialog
      title={guardrail ? `Edit the guardrail of ${keys[0]?.name}` : 'Add guardrail'}
      submit={guardrail ? 'Save' : 'Add guardrail'}
      fields={{
        key_id: { label: 'Calls of', initial: keys[0]?.value ?? '', options: keys, disabled: !!guardrail },
        kind: { label: 'Kind', initial: guardrail?.kind ?? 'http', options: optionsOf(KINDS) },
        url: { label: 'URL', type: 'url', required: 'Enter its URL.', initial: guardrail?.url ?? '' },
        secret: {
          ...{ label: 'API key of the service', type: 'password' },
          hint: guardrail?.has_secret ? 'Leave empty to keep it.' : 'Optional',
        },
        model: { label: 'Model', hint: 'Optional', initial: settings.model ?? '' },
        categories: list('Categories that deny', settings.categories),
        entities: list('Entities to find', settings.entities),
        language: { label: 'Language', initial: settings.language ?? 'en' },
        score_threshold: { label: 'Lowest score', initial: String(settings.score_threshold ?? 0.5) },
        points: {
          ...{ label: 'Judges', initial: points?.length === 1 ? points[0]! : 'prompt,completion' },
          options: [{ value: 'prompt,completion', name: 'Prompts and answers' }, ...optionsOf(POINTS)],
        },
        may_replace: {
          ...{ label: 'May replace texts', hint: 'Streams are then held back until they are judged.' },
          ...{ initial: guardrail?.may_replace ? 'yes' : 'no', options: optionsOf({ no: 'No', yes: 'Yes' }) },
        },
        on_failure: {
          ...{ label: 'When it fails', hint: 'Without a valid answer within the time limit.' },
          ...{ initial: guardrail?.on_failure ?? 'deny', options: optionsOf(FAILURES) },
        },
        timeout_ms: {
          ...{ label: 'Time limit in milliseconds', hint: '100 to 10,000', inputMode: 'numeric' },
          initial: String(guardrail?.timeout_ms ?? 2_000),
        },
      }}
      send={({ secret, model, language, ...values }) => {
        const kind = values.kind as GuardrailView['kind']
        const scoreThreshold = Number(values.score_threshold)
        const settingsOf = {
          http: {},
          moderation: { ...(model !== '' && { model }), categories: namesIn(values.categories) },
          presidio: { language, score_threshold: scoreThreshold, entities: namesIn(values.entities) },
        }
        return requestJson<GuardrailSet>('POST', GUARDRAILS, {
          ...{ key_id: values.key_id || null, kind, url: values.url, settings: settingsOf[kind] },
          ...(kind !== 'http' && secret !== '' && { secret }),
          points: values.points.split(',') as GuardrailView['points'],
          may_replace: values.may_replace === 'yes',
          timeout_ms: Number(values.timeout_ms),
          on_failure: values.on_failure as GuardrailView['on_failure'],
        } satisfies GuardrailBody)
      }}
      stale={[GUARDRAILS]}
      done="Guardrail saved."
      then={({ secret }, close) => secret && <SigningSecret secret={secret} onClose={close} />}
      onClose={onClose}
    >
      {({ input, field }) => {
        const ofKind = FIELDS_OF_KIND[field('kind').value as GuardrailView['kind']]
        return [...BEFORE, ...ofKind, ...AFTER].map((name) => input(name))
      }}
    </FormDialog>
  )
}
