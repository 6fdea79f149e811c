import type { FastifyPluginAsync } from 'fastify'
import type { AppliedEdits, StoredDocument } from '../../catalog/catalog-edits-store.ts'
import type { RateEntry } from '../../catalog/rate-history-store.ts'
import type {
  CatalogCheckView,
  CatalogEditsApplied,
  CatalogEditsView,
  CatalogView,
  RateHistoryView,
} from '../../core/api/catalog.ts'
import type { OperatorList } from '../../core/api/shared.ts'
import { type QueryParameters, readCount, refuseUnknown } from '../../core/billing/usage-query.ts'
import { isAvailable } from '../../core/catalog/catalog.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { formatRate, picoUsdPerToken } from '../../core/kernel/money.ts'
import { type Fields, readFields, readString } from '../account/read-body.ts'
import { askingKey } from '../asking-account.ts'
import { type Deed, doDeed } from './deed.ts'
import type { OperatorServices } from './operator-services.ts'

const LISTED_DEFAULT = 20
const LISTED_MAX = 100
const PROBLEMS_SHOWN = 20
const VERSION_LENGTH_MAX = 20

/** The catalog: what holds, the operator's edits and their versions, and the rates that models had. */
export const catalogRoutes: FastifyPluginAsync<OperatorServices> = async (app, services) => {
  const { catalog, catalogEdits, checkEdits, rateHistory } = services

  app.get('/catalog', async (): Promise<CatalogView> => {
    const { version, generatedAt, models, offers } = catalog()
    const edits = await catalogEdits.current()
    return {
      object: 'catalog',
      version,
      generated_at: new Date(generatedAt * 1000).toISOString(),
      models: models.size,
      available_models: [...models.values()].filter(isAvailable).length,
      offers: offers.size,
      edits: edits && editsView(edits),
    }
  })

  app.get('/catalog/edits', async (request): Promise<OperatorList<CatalogEditsView>> => {
    const found = await catalogEdits.history(readLimit(request.query))
    return { object: 'list', data: found.map(editsView) }
  })

  app.post('/catalog/check', async (request): Promise<CatalogCheckView> => {
    const checked = checkEdits(readContent(readFields(request.body, ['content', 'expected_version'])))
    const problems = checked.kind === 'problems' ? checked.problems : checked.unknown
    return {
      object: 'catalog_check',
      valid: problems.length === 0,
      problems,
      models: checked.kind === 'valid' && problems.length === 0 ? checked.models : null,
    }
  })

  app.post('/catalog/edits', async (request): Promise<CatalogEditsApplied> => {
    const fields = readFields(request.body, ['content', 'expected_version'])
    const content = readContent(fields)
    const expected = readExpectedVersion(fields)
    const author = askingKey(request).keyId
    const details: Deed['details'] = expected === undefined ? {} : { expected_version: expected }
    return doDeed(request, { action: 'catalog.edit', target: 'catalog', details }, services, async () =>
      appliedView(await catalogEdits.apply(content, author, expected)),
    )
  })

  app.post('/catalog/revert', async (request): Promise<CatalogEditsApplied> => {
    const version = readString(readFields(request.body, ['version']), 'version', 1, VERSION_LENGTH_MAX)
    const author = askingKey(request).keyId
    const deed = { action: 'catalog.revert', target: 'catalog', details: { version } }
    return doDeed(request, deed, services, async () => {
      const applied = await catalogEdits.revert(version, author)
      if (!applied) throw new ApiError('not_found', 'There is no such version of the edits.')
      return appliedView(applied)
    })
  })

  app.get<{ Params: { id: string } }>('/models/:id/history', async (request) => {
    const { id } = request.params
    const entries = await rateHistory(id, readLimit(request.query))
    if (entries.length === 0 && !catalog().models.has(id))
      throw new ApiError('not_found', 'There is no such model, and never was.')
    return { object: 'list', data: entries.map(rateView) } satisfies OperatorList<RateHistoryView>
  })
}

function readLimit(query: unknown): number {
  refuseUnknown(query as QueryParameters, ['limit'])
  return readCount(query as QueryParameters, 'limit', LISTED_DEFAULT, LISTED_MAX)
}

function readContent({ content }: Fields): Record<string, unknown> {
  if (typeof content === 'object' && content !== null && !Array.isArray(content))
    return content as Record<string, unknown>
  throw new ApiError('invalid_request', '`content` takes a catalog document, a JSON object.', {
    param: 'content',
  })
}

function readExpectedVersion(fields: Fields): string | null | undefined {
  const { expected_version: expected } = fields
  return expected === undefined || expected === null
    ? expected
    : readString(fields, 'expected_version', 1, VERSION_LENGTH_MAX)
}

function appliedView(applied: AppliedEdits): CatalogEditsApplied {
  switch (applied.kind) {
    case 'applied':
      return {
        object: 'catalog_edits',
        edits: editsView(applied.document),
        announced: applied.announced,
      }
    case 'problems': {
      const shown = applied.problems.slice(0, PROBLEMS_SHOWN).join('\n')
      throw new ApiError('invalid_request', `The catalog would not be valid:\n${shown}`, {
        param: 'content',
        metadata: { problems: applied.problems.length },
      })
    }
    case 'conflict':
      throw new ApiError('conflict', 'Somebody else edited the catalog meanwhile. Look at it again.', {
        metadata: { current_version: applied.current ?? '' },
      })
    default:
      return applied satisfies never
  }
}

const editsView = ({ version, author, createdAt, content }: StoredDocument): CatalogEditsView => ({
  version,
  author,
  created_at: createdAt.toISOString(),
  content,
})

const rateView = (entry: RateEntry): RateHistoryView => ({
  rate_version: entry.rateVersion,
  prompt: formatRate(picoUsdPerToken(entry.prompt)),
  completion: formatRate(picoUsdPerToken(entry.completion)),
  list_prompt: formatRate(picoUsdPerToken(entry.listPrompt)),
  list_completion: formatRate(picoUsdPerToken(entry.listCompletion)),
  prompt_audio: mediaRateView(entry.promptAudio),
  prompt_image: mediaRateView(entry.promptImage),
  list_prompt_audio: mediaRateView(entry.listPromptAudio),
  list_prompt_image: mediaRateView(entry.listPromptImage),
  source: entry.source,
  effective_at: entry.effectiveAt.toISOString(),
})

const mediaRateView = (price: bigint | null): string | null =>
  price === null ? null : formatRate(picoUsdPerToken(price))
