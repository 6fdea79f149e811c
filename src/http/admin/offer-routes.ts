import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'
import type { ProviderHour } from '../../billing/reports/provider-hours.ts'
import { jsonView } from '../../core/api/json-view.ts'
import {
  EnabledView,
  OfferView,
  PROVIDER_CHECK,
  type ProviderCheckView,
  ProviderHourView,
  ProviderView,
} from '../../core/api/offers.ts'
import { CLOSED } from '../../core/api/request-fields.ts'
import { List } from '../../core/api/shared.ts'
import type { Offer } from '../../core/catalog/catalog.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { DAY_MS, HOUR_MS, isoTime } from '../../core/kernel/time.ts'
import type { OperatorAction } from '../../operators/audit-log.ts'
import { offerViews, providerView } from '../account-api/offer-view.ts'
import { period } from '../account-api/provider-status-view.ts'
import { OfId } from '../page.ts'
import { askingOperator, operatorRoute } from '../plugins/operator-access.ts'

const OfferSearch = Type.Object(
  { model: Type.Optional(Type.String()), provider: Type.Optional(Type.String()) },
  CLOSED,
)

const HoursQuery = Type.Object({ hours: Type.Enum(['24', '168'], { default: '24' }) }, CLOSED)
const EMPTY_HOUR = { succeeded: 0, failed: 0, firstTokenP50Ms: null, firstTokenP95Ms: null }

/** All offers and providers with health, measurements and margin; and closing breakers. */
export const offerRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { providerHours } = app.billing
  const { snapshot: catalog, offers } = app.catalog
  const { auditLog, offerManagement, hostClock: clock } = app.operators
  const offersByProvider = (): Map<string, Offer[]> =>
    Map.groupBy(catalog().offers.values(), ({ provider }) => provider.id)
  const enabling = operatorRoute('operations.write', EnabledView, { params: OfId })

  const findOffers = (query: Static<typeof OfferSearch>): OfferView[] =>
    [...catalog().models.values()]
      .filter(({ id }) => query.model === undefined || query.model === id)
      .flatMap((model) => offerViews(model, offers))
      .filter(({ provider }) => query.provider === undefined || query.provider === provider)
  const listProviders = () =>
    [...offersByProvider().values()].map((own) => providerView(own[0]!.provider, own, offers))

  app.get(
    '/offers',
    operatorRoute('read', List(OfferView), { querystring: OfferSearch }),
    async ({ query }) => ({ object: 'list' as const, data: findOffers(query) }),
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
    operatorRoute('read', List(ProviderView), { querystring: Type.Object({}, CLOSED) }),
    async () => {
      const providers = listProviders()
      const checks = await auditLog.latest(
        PROVIDER_CHECK,
        providers.map(({ id }) => id),
      )
      const nowMs = clock()
      const hours = Map.groupBy(await providerHours.read(nowMs - DAY_MS), ({ providerId }) => providerId)
      const checkOf = (id: string) => checkView(checks.find(({ target }) => target === id))
      return {
        object: 'list' as const,
        data: providers.map((each) => ({
          ...each,
          check: checkOf(each.id),
          uptime: period('day', hours.get(each.id) ?? [], nowMs),
        })),
      }
    },
  )

  app.get(
    '/providers/:id/hours',
    operatorRoute('read', List(ProviderHourView), { params: OfId, querystring: HoursQuery }),
    async ({ params: { id }, query }) => {
      // A disabled provider is not in the catalog, and has its past.
      const count = Number(query.hours)
      const fromMs = (Math.floor(clock() / HOUR_MS) - count + 1) * HOUR_MS
      const known = new Map((await providerHours.read(fromMs, id)).map((hour) => [hour.hourMs, hour]))
      return {
        object: 'list' as const,
        data: Array.from({ length: count }, (_, index) => {
          const hourMs = fromMs + index * HOUR_MS
          return hourView(known.get(hourMs) ?? { ...EMPTY_HOUR, hourMs })
        }),
      }
    },
  )

  app.post('/providers/:id/enable', enabling, async (request) => {
    const { id } = request.params
    if (!offersByProvider().has(id)) throw new ApiError('not_found', 'There is no provider with this id.')
    const closed = await offerManagement.enableProvider(askingOperator(request), id)
    return { object: 'enabled' as const, id, closed }
  })
}

/** The latest check, as its command recorded it. */
const checkView = (action: OperatorAction | undefined): ProviderCheckView | null =>
  action ? { ...(action.details as Omit<ProviderCheckView, 'at'>), at: isoTime(action.at) } : null

const hourView = (hour: Omit<ProviderHour, 'providerId'>): ProviderHourView =>
  jsonView(ProviderHourView, { ...hour, at: isoTime(hour.hourMs) })
