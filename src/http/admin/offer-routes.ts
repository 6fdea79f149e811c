import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { EnabledView, OfferView, ProviderView } from '../../core/api/offers.ts'
import { CLOSED } from '../../core/api/request-fields.ts'
import { List } from '../../core/api/shared.ts'
import type { CatalogSnapshot, Offer } from '../../core/catalog/catalog.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import type { Services } from '../../services.ts'
import { type OfferKnowledge, offerViews, providerView } from '../offer-view.ts'
import { OfId } from '../page.ts'
import { needs } from '../plugins/operator-access.ts'
import { askingOperator } from './asking-operator.ts'

export interface OfferRouteServices extends Pick<Services, 'offerManagement'> {
  catalog: () => CatalogSnapshot
  offers: OfferKnowledge
}

const OfferSearch = Type.Object(
  { model: Type.Optional(Type.String()), provider: Type.Optional(Type.String()) },
  CLOSED,
)

/** Every offer and provider with its health, measures and margin; and closing a breaker by hand. */
export const offerRoutes: FastifyPluginAsyncTypebox<OfferRouteServices> = async (
  app,
  { catalog, offers, offerManagement },
) => {
  const offersByProvider = (): Map<string, Offer[]> =>
    Map.groupBy(catalog().offers.values(), ({ provider }) => provider.id)
  const enabling = {
    ...needs('operations.write'),
    schema: { params: OfId, response: { 200: EnabledView } },
  }

  app.get(
    '/offers',
    {
      ...needs('read'),
      schema: { querystring: OfferSearch, response: { 200: List(OfferView) } },
    },
    async ({ query }) => {
      const data = [...catalog().models.values()]
        .filter(({ id }) => query.model === undefined || query.model === id)
        .flatMap((model) => offerViews(model, offers))
        .filter(({ provider }) => query.provider === undefined || query.provider === provider)
      return { object: 'list' as const, data }
    },
  )

  app.post('/offers/:id/enable', enabling, async (request) => {
    const { id } = request.params
    if (!catalog().offers.has(id))
      throw new ApiError(
        'not_found',
        'No such offer. Ids are those of GET /admin/api/offers, percent-encoded.',
      )
    const closed = await offerManagement.enableOffer(askingOperator(request), id)
    return { object: 'enabled' as const, id, closed }
  })

  app.get(
    '/providers',
    {
      ...needs('read'),
      schema: { querystring: Type.Object({}, CLOSED), response: { 200: List(ProviderView) } },
    },
    async () => {
      const data = [...offersByProvider().values()].map((own) => providerView(own[0]!.provider, own, offers))
      return { object: 'list' as const, data }
    },
  )

  app.post('/providers/:id/enable', enabling, async (request) => {
    const { id } = request.params
    if (!offersByProvider().has(id)) throw new ApiError('not_found', 'No provider of that id.')
    const closed = await offerManagement.enableProvider(askingOperator(request), id)
    return { object: 'enabled' as const, id, closed }
  })
}
