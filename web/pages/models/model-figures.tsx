import { formatCount } from '../../lib/format.ts'

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
