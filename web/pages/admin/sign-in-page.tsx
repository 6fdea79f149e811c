import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useRouter, useSearch } from '@tanstack/react-router'
import type { OauthBody, RedirectView } from '../../../src/core/api/identities.ts'
import type { OperatorSession, OperatorSignInBody } from '../../../src/core/api/sessions.ts'
import { operatorVisitorQuery } from '../../api/operator-queries.ts'
import { requestJson } from '../../api/request.ts'
import { switchOperatorSession } from '../../api/session.ts'
import { onwards } from '../../app/address.ts'
import { SiteLayout } from '../../app/site-layout.tsx'
import { Note, QueryView } from '../../components/feedback/messages.tsx'
import { PageForm } from '../../components/form/form.tsx'
import { LargeAction } from '../../components/form/large-action.tsx'
import { CenterPage } from '../../components/layout/page.tsx'
import { operatorProblem } from '../../lib/oauth-problem.ts'

/** Signs an operator in: by single sign-on, or with an admin key. */
export function OperatorSignInPage() {
  const { next, problem } = useSearch({ from: '/admin/sign-in' })
  const visitor = useQuery(operatorVisitorQuery)
  const reason = operatorProblem(problem)
  return (
    <SiteLayout>
      <CenterPage title="Admin sign-in" name="Admin sign-in" lead="For operators of this gateway.">
        {reason && (
          <Note tone="warn" announce>
            {reason}
          </Note>
        )}
        <QueryView query={visitor}>
          {({ single_sign_on: name, admin_keys: hasAdminKeys }) => (
            <>
              {name !== null && <SingleSignOn name={name} next={next} />}
              {hasAdminKeys && <AdminKeyForm next={next} isOnly={name === null} />}
            </>
          )}
        </QueryView>
      </CenterPage>
    </SiteLayout>
  )
}

const SingleSignOn = ({ name, next }: { name: string; next: string | undefined }) => (
  <LargeAction
    kind="primary"
    send={async () => {
      const body: OauthBody = next === undefined ? {} : { next }
      const { url } = await requestJson<RedirectView>('POST', '/admin/api/sso', body)
      window.location.assign(url)
    }}
  >
    Sign in with {name}
  </LargeAction>
)

/** The admin key is exchanged for a session cookie and stored nowhere. */
function AdminKeyForm({ next, isOnly }: { next: string | undefined; isOnly: boolean }) {
  const client = useQueryClient()
  const router = useRouter()
  return (
    <PageForm
      fields={{
        admin_key: {
          label: 'Admin key',
          type: 'password',
          name: 'admin_key',
          autoComplete: 'current-password',
          hint: (
            <>
              Starts with sk-sy-admin-. You stay signed in for 12 hours.{' '}
              <code>npm run admin -- admin-key create</code> creates one on the server.
            </>
          ),
          required: true,
        },
      }}
      send={async (body: OperatorSignInBody & Record<'admin_key', string>) => {
        switchOperatorSession(client, await requestJson<OperatorSession>('POST', '/admin/api/session', body))
        await router.navigate(onwards(next))
      }}
      kind={isOnly ? 'primary' : undefined}
      size="large"
      pending="Signing in …"
      submit={isOnly ? 'Sign in' : 'Sign in with an admin key'}
    />
  )
}
