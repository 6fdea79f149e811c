import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type ReactNode, useEffect, useState } from 'react'
import type {
  AutoTopUpBody,
  AutoTopUpSettingsView,
  AutoTopUpView,
  CardSetupView,
  ConfirmCardBody,
} from '../../../src/core/api/auto-top-up.ts'
import { autoTopUpQuery } from '../../api/queries.ts'
import { requestJson } from '../../api/request.ts'
import { useChange } from '../../api/use-change.ts'
import { ConfirmDialog } from '../../components/feedback/dialogs.tsx'
import { ErrorNote, Note, QueryView } from '../../components/feedback/messages.tsx'
import { showToast } from '../../components/feedback/toasts.tsx'
import { ActionButton } from '../../components/form/action-button.tsx'
import { Button } from '../../components/form/button.tsx'
import { CheckField } from '../../components/form/fields.tsx'
import { type FieldSpec, PageForm } from '../../components/form/form.tsx'
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
          <>
            <p className="text-muted">
              When your balance falls below a threshold, your saved card is charged and your balance credited.
            </p>
            {view.test && <Note tone="warn">Test mode: the card is simulated, and no money is charged.</Note>}
            <SavedCard view={view} />
            {view.card && <RuleForm key={view.settings?.paused?.at ?? 'rule'} view={view} />}
          </>
        )}
      </QueryView>
    </Panel>
  )
}

function SavedCard({ view: { card } }: { view: AutoTopUpView }) {
  const saveButton = (text: string) => (
    <ActionButton
      size={card ? 'small' : undefined}
      pending="Opening …"
      action={{
        send: () => requestJson<CardSetupView>('POST', '/console/api/saved-card', {}),
        stale: [AUTO_TOP_UP],
        onDone: ({ url }) => {
          if (url) window.location.assign(url)
          else showToast('Card saved.')
        },
      }}
    >
      {text}
    </ActionButton>
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
        <Button
          size="small"
          dialog={(close) => (
            <ConfirmDialog
              title="Remove the saved card?"
              confirm="Remove card"
              send={() => requestJson('DELETE', '/console/api/saved-card')}
              stale={[AUTO_TOP_UP]}
              done="Card removed."
              onClose={close}
            >
              <p>
                {cardName(card)} is removed here and at the payment provider. Automatic top-up is turned off.
              </p>
            </ConfirmDialog>
          )}
        >
          Remove card
        </Button>
      </span>
    </div>
  )
}

const usdField = (label: string, initial: string, hint?: ReactNode): FieldSpec => ({
  label,
  initial,
  hint,
  inputMode: 'decimal',
  check: (text) => (isWholeCents(text) ? null : 'Enter an amount in whole cents, such as 25.00.'),
})

function RuleForm({ view: { settings, spent_this_month_usd: spent } }: { view: AutoTopUpView }) {
  const [isEnabled, setIsEnabled] = useState(settings?.enabled ?? true)
  const isPaused = settings?.enabled && settings.paused !== null
  const maximum = usdField(
    'Maximum per month (USD)',
    settings?.monthly_maximum_usd ?? '100.00',
    <>
      <Money usd={spent} /> so far this month (UTC)
    </>,
  )
  return (
    <PageForm
      fields={{
        threshold_usd: usdField(
          'When the balance falls below (USD)',
          settings?.threshold_usd ?? '5.00',
          'At most four times the amount',
        ),
        amount_usd: usdField('Top up by (USD)', settings?.amount_usd ?? '25.00'),
        monthly_maximum_usd: {
          ...maximum,
          check: (text, values) =>
            maximum.check?.(text, values) ??
            (Number(text) < Number(values.amount_usd) ? 'Enter at least the amount of one top-up.' : null),
        },
      }}
      send={(values) =>
        requestJson<AutoTopUpView>('PATCH', AUTO_TOP_UP, {
          enabled: isEnabled,
          ...values,
        } satisfies AutoTopUpBody)
      }
      stale={[AUTO_TOP_UP]}
      done={(saved) => (saved.settings?.enabled ? 'Automatic top-up is on.' : 'Automatic top-up is off.')}
      kind="primary"
      submit={isPaused ? 'Save and resume' : 'Save'}
    >
      {({ input }) => (
        <>
          {settings && <Stopped settings={settings} />}
          <CheckField label="Top up automatically" checked={isEnabled} onChange={setIsEnabled} />
          <div className="grid gap-4 sm:grid-cols-3">
            {input('threshold_usd')}
            {input('amount_usd')}
            {input('monthly_maximum_usd')}
          </div>
        </>
      )}
    </PageForm>
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
  const { mutate, error } = useChange({
    send: (body: ConfirmCardBody) =>
      requestJson<AutoTopUpView>('POST', '/console/api/saved-card/confirm', body),
    onDone: (view) => {
      client.setQueryData(autoTopUpQuery.queryKey, view)
      if (view.card) showToast('Card saved.')
      void navigate({ to: '/billing', search: {}, replace: true })
    },
  })
  useEffect(() => mutate({ id }), [mutate, id])
  return <ErrorNote error={error} />
}
