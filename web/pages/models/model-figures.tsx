import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ModelQualityView } from '../../../src/core/api/models.ts'
import { sessionQuery } from '../../api/queries.ts'
import { formatCount } from '../../lib/format.ts'
import { qualitySource, qualityText } from '../../lib/models/model-quality.ts'

/** A number of tokens. */
export const TokenCount = ({ count }: { count: number }) => (
  <span className="tabular-nums">
    {formatCount(count)} <span className="stat-note">tokens</span>
  </span>
)

/** The most tokens of a completion; where the catalog knows no limit, that is said rather than the window shown. */
export const OutputLimit = ({ limit }: { limit: number | null }) =>
  limit === null ? (
    <span title="A completion ends with the context window at the latest">Not stated</span>
  ) : (
    <TokenCount count={limit} />
  )

/** Completion tokens per second; a dash where too few calls were measured. */
export const Throughput = ({ perSecond }: { perSecond: number | null }) =>
  perSecond === null ? (
    '–'
  ) : (
    <span className="tabular-nums">
      {perSecond < 10 ? perSecond.toFixed(1) : formatCount(Math.round(perSecond))} tokens/s
    </span>
  )

/** The share of published tasks done well with its error, or a dash. Its source is below it or shown by the pointer. */
export const Quality = (props: { quality: ModelQualityView | null; hasSource?: boolean }) => {
  const { quality, hasSource = false } = props
  if (!quality) return '–'
  const source = qualitySource(quality)
  return (
    <span className="stack-tight">
      <span className="whitespace-nowrap tabular-nums" title={source}>
        {qualityText(quality)}
      </span>
      {hasSource && <span className="text-xs text-muted">{source}</span>}
    </span>
  )
}

/** Opens the form of a new preset with some models, for those who may save one. */
export function UseInPreset({ models }: { models: string[] }) {
  const { data: session } = useQuery(sessionQuery)
  return (
    session?.permissions.includes('integrations') && (
      <Link to="/presets" search={{ new: models.join(',') }} className="button">
        Use in preset
      </Link>
    )
  )
}
