import { useQuery } from '@tanstack/react-query'
import type { OauthBody, RedirectView } from '../../../src/core/api/identities.ts'
import { gatewayQuery } from '../../api/queries.ts'
import { path, requestJson } from '../../api/request.ts'
import { useChange } from '../../api/use-change.ts'
import { ErrorNote } from '../../components/feedback/messages.tsx'
import { Button } from '../../components/form/button.tsx'

/** Signs in with another service, which also opens an account; nothing where none is set up. */
export function ProviderButtons({ next }: { next: string | undefined }) {
  const { data: gateway } = useQuery(gatewayQuery)
  const leave = useChange({
    send: async (id: string) => {
      const body: OauthBody = next === undefined ? {} : { next }
      const { url } = await requestJson<RedirectView>('POST', path`/console/api/oauth/${id}`, body)
      window.location.assign(url)
    },
  })
  if (!gateway || gateway.providers.length === 0) return null
  return (
    <div className="stack gap-3">
      <ErrorNote error={leave.error} />
      {gateway.providers.map(({ id, name }) => (
        <Button key={id} size="large" disabled={leave.isPending} onClick={() => leave.mutate(id)}>
          Continue with {name}
        </Button>
      ))}
    </div>
  )
}
