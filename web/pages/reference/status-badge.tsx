import { Badge } from '../../components/text/values.tsx'

const TONES: Record<string, 'good' | 'accent'> = { Stable: 'good', Limited: 'accent', Public: 'accent' }

/** The status of a surface in the specification's words. */
export const StatusBadge = ({ status }: { status: string }) => (
  <Badge tone={TONES[status] ?? 'plain'}>{status}</Badge>
)
