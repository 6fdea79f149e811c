import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { AccountPatch, PasswordBody, SessionView } from '../../src/core/api/sessions.ts'
import { sessionQuery } from '../api/queries.ts'
import { requestJson } from '../api/request.ts'
import { chooseTheme, storedTheme, THEME_NAMES, THEMES, type Theme } from '../app/theme.ts'
import { ChoiceField } from '../components/choice-field.tsx'
import { Form } from '../components/form.tsx'
import { fieldError } from '../components/form-error.tsx'
import { Identifier } from '../components/identifier.tsx'
import { PageHead } from '../components/page-head.tsx'
import { Panel } from '../components/panel.tsx'
import { TextField } from '../components/text-field.tsx'
import { showToast } from '../components/toasts.tsx'
import { isWholeCents } from '../lib/amounts.ts'
import { newPasswordProblem } from '../lib/credentials.ts'
import { formatDate } from '../lib/dates.ts'

const THEME_OPTIONS = THEMES.map((theme) => ({ value: theme, name: THEME_NAMES[theme] }))

/** The account itself: who it is, its password, when to warn, and how this page looks. */
export function SettingsPage() {
  const { data: session } = useQuery(sessionQuery)
  const [theme, setTheme] = useState<Theme>(storedTheme)
  if (!session) return null
  const { account } = session
  return (
    <>
      <PageHead title="Settings" />
      <Panel title="Account">
        <div className="panel-body">
          <dl className="facts">
            <dt>E-mail address</dt>
            <dd>{account.email}</dd>
            <dt>Account id</dt>
            <dd>
              <Identifier id={account.id} of="the account id" />
            </dd>
            <dt>Since</dt>
            <dd>{formatDate(account.created_at)}</dd>
          </dl>
        </div>
      </Panel>
      <Panel title="Appearance">
        <div className="panel-body">
          <ChoiceField
            label="Theme"
            value={theme}
            options={THEME_OPTIONS}
            onChange={(value) => {
              setTheme(value as Theme)
              chooseTheme(value as Theme)
            }}
          />
        </div>
      </Panel>
      <Panel title="Low balance">
        <div className="panel-body">
          <LowBalanceForm threshold={session.balance.low_balance_usd} />
        </div>
      </Panel>
      <Panel title="Password">
        <div className="panel-body">
          <PasswordForm email={account.email} />
        </div>
      </Panel>
    </>
  )
}

function LowBalanceForm({ threshold }: { threshold: string | null }) {
  const [amount, setAmount] = useState(threshold ?? '')
  const [isChecked, setIsChecked] = useState(false)
  const client = useQueryClient()
  const save = useMutation({
    mutationFn: (body: AccountPatch) => requestJson<SessionView>('PATCH', '/console/api/account', { body }),
    onSuccess: (session) => {
      client.setQueryData(sessionQuery.queryKey, session)
      showToast(amount === '' ? 'There will be no message.' : 'Saved.')
    },
  })
  const problem = amount === '' || isWholeCents(amount) ? null : 'Enter an amount such as 5.00, or nothing.'
  const submit = () => {
    setIsChecked(true)
    if (problem === null) save.mutate({ low_balance_usd: amount === '' ? null : amount })
  }
  return (
    <Form error={save.error} fields={['low_balance_usd']} onSubmit={submit}>
      <TextField
        label="Tell me at, USD"
        value={amount}
        onChange={setAmount}
        inputMode="decimal"
        placeholder="never"
        hint="Your webhooks get balance.low when the balance falls to this amount. Empty: never."
        error={(isChecked && problem) || fieldError(save.error, 'low_balance_usd')}
      />
      <div>
        <button type="submit" className="button" disabled={save.isPending}>
          Save
        </button>
      </div>
    </Form>
  )
}

function PasswordForm({ email }: { email: string }) {
  const [current, setCurrent] = useState('')
  const [next, setNext] = useState('')
  const [isChecked, setIsChecked] = useState(false)
  const change = useMutation({
    mutationFn: (body: PasswordBody) => requestJson('POST', '/console/api/password', { body }),
    gcTime: 0,
    onSuccess: () => {
      setCurrent('')
      setNext('')
      setIsChecked(false)
      showToast('The password is changed, and every other session has ended.')
    },
  })
  const problems = {
    current: current === '' ? 'Enter your present password.' : null,
    next: newPasswordProblem(next),
  }
  const submit = () => {
    setIsChecked(true)
    if (!problems.current && !problems.next) change.mutate({ current_password: current, new_password: next })
  }
  return (
    <Form error={change.error} fields={['current_password', 'new_password']} onSubmit={submit}>
      {/* Tells password managers whose password this is. */}
      <input type="hidden" name="username" autoComplete="username" value={email} readOnly />
      <TextField
        label="Present password"
        type="password"
        autoComplete="current-password"
        value={current}
        onChange={setCurrent}
        error={(isChecked && problems.current) || fieldError(change.error, 'current_password')}
        required
      />
      <TextField
        label="New password"
        type="password"
        autoComplete="new-password"
        value={next}
        onChange={setNext}
        hint="At least 10 characters. Changing it ends every other session."
        error={(isChecked && problems.next) || fieldError(change.error, 'new_password')}
        required
      />
      <div>
        <button type="submit" className="button" disabled={change.isPending}>
          {change.isPending ? 'Changing …' : 'Change the password'}
        </button>
      </div>
    </Form>
  )
}
