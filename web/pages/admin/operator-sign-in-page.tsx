import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useRouter, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import type { OperatorSession, OperatorSignInBody } from '../../../src/core/api/sessions.ts'
import { OPERATOR_API, operatorSessionQuery } from '../../api/operator-queries.ts'
import { requestJson } from '../../api/request.ts'
import { SiteLayout } from '../../app/site-layout.tsx'
import { Form } from '../../components/form.tsx'
import { fieldError } from '../../components/form-error.tsx'
import { TextField } from '../../components/text-field.tsx'
import { usePageTitle } from '../../components/use-page-title.ts'

/** Lets an operator in with an admin key, which goes into a cookie's session and nowhere else. */
export function OperatorSignInPage() {
  const heading = usePageTitle('Operators: sign in')
  const { next } = useSearch({ from: '/admin/sign-in' })
  const [adminKey, setAdminKey] = useState('')
  const client = useQueryClient()
  const router = useRouter()
  const signIn = useMutation({
    mutationFn: (body: OperatorSignInBody) =>
      requestJson<OperatorSession>('POST', `${OPERATOR_API}/session`, { body }),
    gcTime: 0,
    onSuccess: async (session) => {
      setAdminKey('')
      client.setQueryData(operatorSessionQuery.queryKey, session)
      const href = next ?? '/admin'
      // The queue board is a page of the server's own.
      if (href.startsWith('/admin/queues')) window.location.assign(href)
      else await router.navigate({ href })
    },
  })
  return (
    <SiteLayout>
      <div className="center-page">
        <div className="stack-small">
          <h1 ref={heading} tabIndex={-1}>
            Operators
          </h1>
          <p className="muted">
            Sign in with an admin key. <code>npm run admin -- admin-key create</code> makes one on the
            gateway’s own machine.
          </p>
        </div>
        <Form
          error={signIn.error}
          fields={['admin_key']}
          onSubmit={() => signIn.mutate({ admin_key: adminKey.trim() })}
        >
          <TextField
            label="Admin key"
            type="password"
            name="admin_key"
            autoComplete="current-password"
            value={adminKey}
            onChange={setAdminKey}
            hint="It begins with sk-sy-admin-. This browser stays signed in for twelve hours."
            error={fieldError(signIn.error, 'admin_key')}
            required
          />
          <button type="submit" className="button button-primary button-large" disabled={signIn.isPending}>
            {signIn.isPending ? 'Signing in …' : 'Sign in'}
          </button>
        </Form>
      </div>
    </SiteLayout>
  )
}
