import { Badge } from '../../components/text/values.tsx'

const TONES: Record<string, 'good' | 'accent'> = { Stable: 'good', Limited: 'accent', Public: 'accent' }

/** The status of a surface in the specification's words. */
export function StatusBadge({ status }: { status: string }) {
  return <Badge tone={TONES[status] ?? 'plain'}>{status}</Badge>
}
