import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { jsonView } from '../../core/api/json-view.ts'
import { List } from '../../core/api/shared.ts'
import { OpenableSurface, SurfaceGrant, SurfaceHolderRequest } from '../../core/api/surfaces/surfaces.ts'
import type { StoredSurfaceGrant } from '../../operators/surface-grant-store.ts'
import type { GrantableSurface } from '../../operators/surface-management.ts'
import { OfId } from '../page.ts'
import { askingOperator, operatorRoute } from '../plugins/operator-access.ts'

const OfHolder = Type.Partial(Type.Object({ account: Type.String(), key_id: Type.String() }))

/** Granting surfaces to accounts and keys, and revoking grants. */
export const surfaceRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { accountManagement, surfaceManagement } = app.operators
  const findHolder = ({ account, key_id: keyId, every_account: everyAccount }: SurfaceHolderRequest) =>
    surfaceManagement.findHolder({
      ...(account && { account }),
      ...(keyId && { keyId }),
      ...(everyAccount && { everyAccount }),
    })

  app.get(
    '/surface-grants',
    operatorRoute('read', List(SurfaceGrant), { querystring: OfHolder }),
    async ({ query }) => {
      const isOfAll = query.account === undefined && query.key_id === undefined
      const grants = await surfaceManagement.list(isOfAll ? undefined : await findHolder(query))
      return { object: 'list' as const, data: grants.map(grantView) }
    },
  )

  app.get(
    '/accounts/:id/surfaces',
    operatorRoute('read', List(OpenableSurface), { params: OfId }),
    async ({ params }) => {
      const { id } = await accountManagement.find(params.id)
      const surfaces = await surfaceManagement.listOfAccount(id)
      return { object: 'list' as const, data: surfaces.map(openableView) }
    },
  )

  for (const verb of ['open', 'close'] as const) {
    app.post(
      `/surfaces/:id/${verb}`,
      operatorRoute('accounts.write', SurfaceGrant, { params: OfId, body: SurfaceHolderRequest }),
      async (request) => {
        const holder = await findHolder(request.body)
        return grantView(await surfaceManagement[verb](askingOperator(request), request.params.id, holder))
      },
    )
  }
}

const openableView = (surface: GrantableSurface): OpenableSurface =>
  jsonView(OpenableSurface, {
    ...surface,
    grants: surface.grants.map((grant) => ({ ...grantView(grant), opened_by: grant.openedBy })),
  })

/** A grant for operators. */
export const grantView = (grant: StoredSurfaceGrant): SurfaceGrant => jsonView(SurfaceGrant, grant)
