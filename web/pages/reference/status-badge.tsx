import type { PublishedSurface } from '../../../src/core/api/surfaces/surfaces.ts'
import { Badge } from '../../components/text/values.tsx'

type Status = PublishedSurface['status']

interface Words {
  name: string
  meaning: string
  tone?: 'good' | 'accent'
}

/** The text about a status, in the order of the API's promises. */
export const STATUS_WORDS: Record<Status, Words> = {
  Stable: { name: 'Stable', meaning: 'A contract: it passed the release gate as it is.', tone: 'good' },
  Limited: { name: 'Beta', meaning: 'Works, and may change.', tone: 'accent' },
  'Provider-specific': {
    name: 'Provider-specific',
    meaning: 'Works where routing selects a target that speaks this protocol.',
  },
  'Not release-ready': {
    name: 'Preview',
    meaning: 'Has not passed its release gate; an operator may open it to an account.',
  },
  'Not a product-key surface': {
    name: 'On request',
    meaning: 'Not for the keys of accounts, unless an operator opens it.',
  },
  'Not implemented': { name: 'Not implemented', meaning: 'Has no handler.' },
  Public: { name: 'Public', meaning: 'Needs no key.', tone: 'accent' },
}

/** The status of an endpoint. A status that this build does not know is shown as the API names it. */
export function StatusBadge({ status }: { status: string }) {
  const { name, tone = 'plain' } = (STATUS_WORDS as Partial<Record<string, Words>>)[status] ?? {
    name: status,
  }
  return <Badge tone={tone}>{name}</Badge>
}
