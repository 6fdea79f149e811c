import type { FastifyPluginAsync } from 'fastify'
import type { EnabledView } from '../../core/api/offers.ts'
import { refuseUnknown } from '../../core/billing/usage-query.ts'
import type { Offer } from '../../core/catalog/catalog.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { doDeed } from '../admin/deed.ts'
import type { AppDependencies } from '../app.ts'
import { providerView } from '../offer-view.ts'

const PATH = '/admin/api/providers'

/** Every provider of the catalog with its offers summed up; and closing all its breakers by hand. */
export const adminProviders: FastifyPluginAsync<AppDependencies> = async (
  app,
  { catalog, offers, operator },
) => {
  const offersByProvider = (): Map<string, Offer[]> => Map.groupBy(catalog().offers.values(), providerId)

  app.get(PATH, { onRequest: [app.requireAdminKey] }, async (request) => {
    refuseUnknown(request.query as Record<string, string>, [])
    const data = [...offersByProvider().values()].map((own) => providerView(own[0]!.provider, own, offers))
    return { object: 'list', data }
  })

  app.post<{ Params: { id: string } }>(
    `${PATH}/:id/enable`,
    { onRequest: [app.requireAdminKey] },
    async (request): Promise<EnabledView> => {
      const { id } = request.params
      if (!offersByProvider().has(id)) throw new ApiError('not_found', 'No provider of that id.')
      const deed = { action: 'provider.enable', target: id, details: {} }
      const closed = await doDeed(request, deed, operator, () => offers.enableProvider(id))
      return { object: 'enabled', id, closed }
    },
  )
}

const providerId = (offer: Offer): string => offer.provider.id
