import type { OperatorAccount } from '../../../../src/core/api/accounts.ts'
import { Badge, type Tone } from '../../../components/text/values.tsx'

const STATES: Record<OperatorAccount['state'], { name: string; tone: Tone }> = {
  active: { name: 'active', tone: 'good' },
  free_credit: { name: 'on free credit', tone: 'plain' },
  exhausted: { name: 'used up', tone: 'warn' },
  suspended: { name: 'suspended', tone: 'bad' },
}

export function AccountState({ state }: { state: OperatorAccount['state'] }) {
  const { name, tone } = STATES[state]
  return <Badge tone={tone}>{name}</Badge>
}
