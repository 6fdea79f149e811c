import { useQueryClient } from '@tanstack/react-query'
import { useRouter, useSearch } from '@tanstack/react-router'
import type { OperatorSession, OperatorSignInBody } from '../../../src/core/api/sessions.ts'
import { requestJson } from '../../api/request.ts'
import { switchOperatorSession } from '../../api/session.ts'
import { onwards } from '../../app/address.ts'
import { SiteLayout } from '../../app/site-layout.tsx'
import { TextField } from '../../components/form/fields.tsx'
import { Form, Submit, useForm } from '../../components/form/form.tsx'
import { CenterPage } from '../../components/layout/page.tsx'

/** Signs an operator in with an admin key, which is exchanged for a session cookie and stored nowhere. */
export function OperatorSignInPage() {
  const { next } = useSearch({ from: '/admin/sign-in' })
  const client = useQueryClient()
  const router = useRouter()
  const form = useForm({
    initial: { admin_key: '' },
    send: async ({ admin_key }) => {
      const body: OperatorSignInBody = { admin_key: admin_key.trim() }
      switchOperatorSession(client, await requestJson<OperatorSession>('POST', '/admin/api/session', body))
      await router.navigate(onwards(next))
    },
  })
  return (
    <SiteLayout>
      <CenterPage
        title="Admin sign-in"
        name="Admin sign-in"
        lead={
          <>
            Sign in with an admin key. <code>npm run admin -- admin-key create</code> creates one on the
            server.
          </>
        }
      >
        <Form form={form}>
          <TextField
            label="Admin key"
            type="password"
            name="admin_key"
            autoComplete="current-password"
            {...form.field('admin_key')}
            hint="Starts with sk-sy-admin-. You stay signed in for 12 hours."
            required
          />
          <Submit form={form} kind="primary" size="large" pending="Signing in …">
            Sign in
          </Submit>
        </Form>
      </CenterPage>
    </SiteLayout>
  )
}
