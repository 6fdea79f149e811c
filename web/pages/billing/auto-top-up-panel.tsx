import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import type {
  AutoTopUpBody,
  AutoTopUpSettingsView,
  AutoTopUpView,
  CardSetupView,
  ConfirmCardBody,
} from '../../../src/core/api/auto-top-up.ts'
import { autoTopUpQuery } from '../../api/queries.ts'
import { requestJson } from '../../api/request.ts'
import { useAction } from '../../api/use-change.ts'
import { ConfirmDialog } from '../../components/feedback/dialogs.tsx'
import { ErrorNote, Note, QueryView } from '../../components/feedback/messages.tsx'
import { showToast } from '../../components/feedback/toasts.tsx'
import { Button } from '../../components/form/button.tsx'
import { CheckField, TextField } from '../../components/form/fields.tsx'
import { Form, Submit, useForm } from '../../components/form/form.tsx'
import { Panel } from '../../components/layout/page.tsx'
import { Money } from '../../components/text/money.tsx'
import { Badge } from '../../components/text/values.tsx'
import { cardName } from '../../lib/card-name.ts'
import { isWholeCents } from '../../lib/checks.ts'
import { formatMoment } from '../../lib/format.ts'

const AUTO_TOP_UP = '/console/api/auto-top-up'

/** The saved card, and the rule by which it is charged. Nothing where cards cannot be saved. */
export function AutoTopUpPanel() {
  const query = useQuery(autoTopUpQuery)
  if (query.data && !query.data.available && !query.data.card) return null
  return (
    <Panel title="Automatic top-up" padded>
      <QueryView query={query}>
        {(view) => (
          <div className="stack">
            <p className="text-muted">
              When your balance falls below a threshold, your saved card is charged and your balance credited.
            </p>
            {view.test && <Note tone="warn">Test mode: the card is simulated, and no money is charged.</Note>}
            <SavedCard view={view} />
            {view.card && <RuleForm key={view.settings?.paused?.at ?? 'rule'} view={view} />}
          </div>
        )}
      </QueryView>
    </Panel>
  )
}

function SavedCard({ view: { card } }: { view: AutoTopUpView }) {
  const [isAsking, setIsAsking] = useState(false)
  const save = useAction({
    send: () => requestJson<CardSetupView>('POST', '/console/api/saved-card', {}),
    stale: [AUTO_TOP_UP],
    onDone: ({ url }) => {
      if (url) window.location.assign(url)
      else showToast('Card saved.')
    },
  })
  const saveButton = (text: string) => (
    <Button size={card ? 'small' : undefined} disabled={save.isPending} onClick={() => save.run()}>
      {save.isPending ? 'Opening …' : text}
    </Button>
  )
  if (!card) return <div>{saveButton('Save a card')}</div>
  return (
    <div className="spread gap-3">
      <span className="row">
        <strong>{cardName(card)}</strong>
        <span className="text-muted">
          expires {String(card.exp_month).padStart(2, '0')}/{card.exp_year}
        </span>
        {card.test && <Badge>test</Badge>}
      </span>
      <span className="row">
        {saveButton('Replace card')}
        <Button size="small" onClick={() => setIsAsking(true)}>
          Remove card
        </Button>
      </span>
      {isAsking && (
        <ConfirmDialog
          title="Remove the saved card?"
          confirm="Remove card"
          send={() => requestJson('DELETE', '/console/api/saved-card')}
          stale={[AUTO_TOP_UP]}
          done="Card removed."
          onClose={() => setIsAsking(false)}
        >
          <p>{cardName(card)} is removed here and at the payment provider. Automatic top-up is turned off.</p>
        </ConfirmDialog>
      )}
    </div>
  )
}

const usdProblem = (text: string): string | null =>
  isWholeCents(text.trim()) ? null : 'Enter an amount in whole cents, such as 25.00.'

function RuleForm({ view: { settings, spent_this_month_usd: spent } }: { view: AutoTopUpView }) {
  const [isEnabled, setIsEnabled] = useState(settings?.enabled ?? true)
  const form = useForm({
    initial: {
      threshold_usd: settings?.threshold_usd ?? '5.00',
      amount_usd: settings?.amount_usd ?? '25.00',
      monthly_maximum_usd: settings?.monthly_maximum_usd ?? '100.00',
    },
    check: (values) => ({
      threshold_usd: usdProblem(values.threshold_usd),
      amount_usd: usdProblem(values.amount_usd),
      monthly_maximum_usd:
        usdProblem(values.monthly_maximum_usd) ??
        (Number(values.monthly_maximum_usd) < Number(values.amount_usd)
          ? 'Enter at least the amount of one top-up.'
          : null),
    }),
    send: (values) => {
      const trimmed = Object.fromEntries(Object.entries(values).map(([name, text]) => [name, text.trim()]))
      const body = { enabled: isEnabled, ...trimmed } as AutoTopUpBody
      return requestJson<AutoTopUpView>('PATCH', AUTO_TOP_UP, body)
    },
    stale: [AUTO_TOP_UP],
    done: (saved) => (saved.settings?.enabled ? 'Automatic top-up is on.' : 'Automatic top-up is off.'),
  })
  const isPaused = settings?.enabled && settings.paused !== null
  return (
    <Form form={form}>
      {settings && <Stopped settings={settings} />}
      <CheckField label="Top up automatically" checked={isEnabled} onChange={setIsEnabled} />
      <div className="grid gap-4 sm:grid-cols-3">
        <TextField
          label="When the balance falls below (USD)"
          inputMode="decimal"
          hint="At most four times the amount"
          {...form.field('threshold_usd')}
        />
        <TextField label="Top up by (USD)" inputMode="decimal" {...form.field('amount_usd')} />
        <TextField
          label="Maximum per month (USD)"
          inputMode="decimal"
          hint={
            <>
              <Money usd={spent} /> so far this month (UTC)
            </>
          }
          {...form.field('monthly_maximum_usd')}
        />
      </div>
      <div>
        <Submit form={form} kind="primary" pending="Saving …">
          {isPaused ? 'Save and resume' : 'Save'}
        </Submit>
      </div>
    </Form>
  )
}

/** Why no card is charged although automatic top-up is on. */
function Stopped({ settings }: { settings: AutoTopUpSettingsView }) {
  const { enabled, paused, monthly_maximum_reached: isAtMaximum, next_charge_after: waitsUntil } = settings
  if (!enabled) return null
  if (paused)
    return (
      <Note tone="bad">
        <strong>Paused since {formatMoment(paused.at)}.</strong>{' '}
        {paused.reason === 'authentication_required'
          ? 'Your bank wants you to confirm payments with this card, which is not possible while you are away. Replace the card, or top up by hand.'
          : 'The saved card could not be charged. Check or replace the card, then save to resume.'}
        {paused.detail && <> Reason: {paused.detail}.</>}
      </Note>
    )
  if (!isAtMaximum && waitsUntil !== null && Date.parse(waitsUntil) > Date.now())
    return <Note>The card is not charged again before {formatMoment(waitsUntil)}.</Note>
  if (isAtMaximum)
    return (
      <Note tone="warn">
        Another top-up would exceed your maximum for this month. Automatic top-up continues next month.
      </Note>
    )
  return null
}

/** Saves the card of the page that the holder comes back from, and takes its id out of the address. */
export function CardSetupReturn({ id }: { id: string }) {
  const client = useQueryClient()
  const navigate = useNavigate()
  const [error, setError] = useState<Error | null>(null)
  useEffect(() => {
    const body: ConfirmCardBody = { id }
    requestJson<AutoTopUpView>('POST', '/console/api/saved-card/confirm', body).then(
      (view) => {
        client.setQueryData(autoTopUpQuery.queryKey, view)
        if (view.card) showToast('Card saved.')
        void navigate({ to: '/billing', search: {}, replace: true })
      },
      (failure: Error) => setError(failure),
    )
  }, [client, id, navigate])
  return <ErrorNote error={error} />
}
