import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'
import { EnabledView, MovingOffer, MovingProvider, OfferView, ProviderView } from '../../core/api/offers.ts'
import { CLOSED } from '../../core/api/request-fields.ts'
import { List } from '../../core/api/shared.ts'
import type { Offer } from '../../core/catalog/catalog.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { offerViews, providerView } from '../offer-view.ts'
import { OfId } from '../page.ts'
import { askingOperator, needs } from '../plugins/operator-access.ts'

const OfferSearch = Type.Object(
  { model: Type.Optional(Type.String()), provider: Type.Optional(Type.String()) },
  CLOSED,
)

/** All offers and providers with health, measurements and margin; and closing breakers. */
export const offerRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { catalog, offers, offerManagement } = app.services
  const offersByProvider = (): Map<string, Offer[]> =>
    Map.groupBy(catalog().offers.values(), ({ provider }) => provider.id)
  const enabling = {
    ...needs('operations.write'),
    schema: { params: OfId, response: { 200: EnabledView } },
  }

  const findOffers = (query: Static<typeof OfferSearch>): OfferView[] =>
    [...catalog().models.values()]
      .filter(({ id }) => query.model === undefined || query.model === id)
      .flatMap((model) => offerViews(model, offers))
      .filter(({ provider }) => query.provider === undefined || query.provider === provider)
  const listProviders = (): ProviderView[] =>
    [...offersByProvider().values()].map((own) => providerView(own[0]!.provider, own, offers))

  app.get(
    '/offers',
    {
      ...needs('read'),
      schema: { querystring: OfferSearch, response: { 200: List(OfferView) } },
    },
    async ({ query }) => ({ object: 'list' as const, data: findOffers(query) }),
  )

  // Polled by pages.
  app.get(
    '/offers/moving',
    {
      ...needs('read'),
      schema: { querystring: OfferSearch, response: { 200: List(MovingOffer) } },
    },
    async ({ query }) => ({
      object: 'list' as const,
      data: findOffers(query).filter(isMovingOffer).map(movingOffer),
    }),
  )

  app.post('/offers/:id/enable', enabling, async (request) => {
    const { id } = request.params
    if (!catalog().offers.has(id))
      throw new ApiError(
        'not_found',
        'There is no such offer. Use an id of GET /admin/api/offers, percent-encoded.',
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
    async () => ({ object: 'list' as const, data: listProviders() }),
  )

  app.get(
    '/providers/moving',
    {
      ...needs('read'),
      schema: { querystring: Type.Object({}, CLOSED), response: { 200: List(MovingProvider) } },
    },
    async () => ({
      object: 'list' as const,
      data: listProviders().filter(isMovingProvider).map(movingProvider),
    }),
  )

  app.post('/providers/:id/enable', enabling, async (request) => {
    const { id } = request.params
    if (!offersByProvider().has(id)) throw new ApiError('not_found', 'There is no provider with this id.')
    const closed = await offerManagement.enableProvider(askingOperator(request), id)
    return { object: 'enabled' as const, id, closed }
  })
}

const wasTried = ({
  last_ten_minutes: { success, failure, rate_limited: limited },
}: OfferView | ProviderView) => success + failure + limited > 0

const movingOffer = (offer: OfferView): MovingOffer => ({
  id: offer.id,
  health: offer.health,
  last_minute: offer.last_minute,
  last_ten_minutes: offer.last_ten_minutes,
  first_token_ms: offer.first_token_ms,
  tokens_per_second: offer.tokens_per_second,
})

const movingProvider = (provider: ProviderView): MovingProvider => ({
  id: provider.id,
  health: provider.health,
  breaker: provider.breaker,
  last_minute: provider.last_minute,
  last_ten_minutes: provider.last_ten_minutes,
})

/** Whether the metrics of an offer differ from those of a healthy offer without recent calls. */
const isMovingOffer = (offer: OfferView): boolean =>
  wasTried(offer) || offer.health.state !== 'ready' || offer.health.breaker !== 'closed'

const isMovingProvider = (provider: ProviderView): boolean =>
  wasTried(provider) || provider.breaker.breaker !== 'closed' || provider.health.ready !== provider.offers
