import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { sessionQuery, usageQuery } from '../../api/queries.ts'
import { formatCount, lastDays } from '../../lib/format.ts'
import { averageCall, type CallSize, TYPICAL_CALL } from '../../lib/models/model-comparison.ts'

/** The period of the account's average call. */
const DAYS = 30

/** The account's average call, else a typical one; and what a thousand of them are called. */
export function useCallSize(): { size: CallSize; thousand: string } {
  const { data: session } = useQuery(sessionQuery)
  const span = useMemo(() => lastDays(DAYS, new Date()), [])
  const { data: usage } = useQuery({ ...usageQuery(span, 'day'), enabled: Boolean(session) })
  const size = usage ? averageCall(usage.total) : TYPICAL_CALL
  const [prompt, completion] = [size.prompt, size.completion].map((tokens) => formatCount(Math.round(tokens)))
  const calls = usage?.total.calls ? 'of your calls' : 'calls'
  return { size, thousand: `1,000 ${calls} (${prompt} in, ${completion} out)` }
}
