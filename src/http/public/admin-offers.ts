import type { FastifyPluginAsync } from 'fastify'
import type { EnabledView } from '../../core/api/offers.ts'
import { type QueryParameters, refuseUnknown } from '../../core/billing/usage-query.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { doDeed } from '../admin/deed.ts'
import type { AppDependencies } from '../app.ts'
import { offerViews } from '../offer-view.ts'

const PATH = '/admin/api/offers'

/** Every offer with its health, measures and margin, for operators; and closing a breaker by hand. */
export const adminOffers: FastifyPluginAsync<AppDependencies> = async (
  app,
  { catalog, offers, operator },
) => {
  app.get(PATH, { onRequest: [app.requireAdminKey] }, async (request) => {
    const query = request.query as QueryParameters
    refuseUnknown(query, ['model', 'provider'])
    const models = [...catalog().models.values()]
    const data = models
      .filter(({ id }) => query.model === undefined || query.model === id)
      .flatMap((model) => offerViews(model, offers))
      .filter(({ provider }) => query.provider === undefined || query.provider === provider)
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
      const deed = { action: 'offer.enable', target: id, details: {} }
      const closed = await doDeed(request, deed, operator, () => offers.enableOffer(id))
      return { object: 'enabled', id, closed }
    },
  )
}
