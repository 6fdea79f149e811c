import { useQuery } from '@tanstack/react-query'
import { FlaskConical } from 'lucide-react'
import type { GatewayView } from '../../src/core/api/gateway.ts'
import { gatewayQuery } from '../api/queries.ts'

const TEXTS: Record<Exclude<GatewayView['answers'], 'real'>, string> = {
  simulated: 'answers are simulated, not written by the models.',
  mixed: 'answers of models without a connected provider are simulated.',
}

/** Says on every page that completions are made up, while they are. */
export function DemoBanner() {
  const { data: gateway } = useQuery(gatewayQuery)
  if (!gateway || gateway.answers === 'real') return null
  return (
    <aside className="demo-banner" aria-label="Demo mode">
      <FlaskConical size={16} aria-hidden="true" />
      <p>
        <strong>Demo mode:</strong> {TEXTS[gateway.answers]}
      </p>
    </aside>
  )
}
