import type { FastifyPluginAsync } from 'fastify'
import { ApiError } from '../../core/errors.ts'
import type { EnabledView, OfferView } from '../../core/operator-offers.ts'
import { type QueryParameters, refuseUnknown } from '../../core/usage-query.ts'
import type { AppDependencies } from '../app.ts'
import { offerView } from '../offer-view.ts'

const PATH = '/admin/api/offers'

/** Every offer with its health, measures and margin, for operators; and closing a breaker by hand. */
export const adminOffers: FastifyPluginAsync<AppDependencies> = async (
  app,
  { catalog, offers, dispatch },
) => {
  app.get(PATH, { onRequest: [app.requireAdminKey] }, async (request, reply) => {
    const query = request.query as QueryParameters
    refuseUnknown(query, ['model', 'provider'])
    const data: OfferView[] = []
    for (const model of catalog().models.values()) {
      if (query.model !== undefined && query.model !== model.id) continue
      for (const offer of model.offers) {
        if (query.provider !== undefined && query.provider !== offer.provider.id) continue
        data.push(offerView(model, offer, offers))
      }
    }
    reply.header('cache-control', 'no-store')
    return { object: 'list', data }
  })

  app.post<{ Params: { id: string } }>(
    `${PATH}/:id/enable`,
    { onRequest: [app.requireAdminKey] },
    async (request): Promise<EnabledView> => {
      const { id } = request.params
      if (!catalog().offers.has(id)) {
        throw new ApiError(
          'not_found',
          'No such offer. Ids are those of GET /admin/api/offers, percent-encoded.',
        )
      }
      const closed = await offers.enableOffer(id)
      dispatch.logger.info({ by: request.key?.keyId, id, closed }, 'an operator closed breakers')
      return { object: 'enabled', id, closed }
    },
  )
}
