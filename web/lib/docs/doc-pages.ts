/// <reference path="./raw-markdown.d.ts" />

/** A page of docs/ that users read in the console. */
export interface DocPage {
  /** Of its address: /docs/SLUG. */
  slug: string
  /** In docs/. */
  file: string
  title: string
  /** What one finds there, in a line. */
  about: string
  load: () => Promise<{ default: string }>
}

interface DocGroup {
  name: string
  pages: DocPage[]
}

/** The pages in the order of the navigation. The file of one is SLUG.md unless it says another. */
const GROUPS: ReadonlyArray<{ name: string; pages: Array<Omit<DocPage, 'file'> & { file?: string }> }> = [
  {
    name: 'Start',
    pages: [
      {
        slug: 'quick-start',
        title: 'Quick start',
        about: 'From an account to the first answer.',
        load: () => import('../../../docs/quick-start.md?raw'),
      },
      {
        slug: 'api-keys',
        title: 'API keys',
        about: 'Create keys, limit and revoke them.',
        load: () => import('../../../docs/api-keys.md?raw'),
      },
      {
        slug: 'playground',
        title: 'Playground',
        about: 'Try and compare models in the browser.',
        load: () => import('../../../docs/playground.md?raw'),
      },
    ],
  },
  {
    name: 'Calling models',
    pages: [
      {
        slug: 'streaming',
        title: 'Streaming',
        about: 'Answers while they are made, and streams that break.',
        load: () => import('../../../docs/streaming.md?raw'),
      },
      {
        slug: 'routing',
        title: 'Routing',
        about: 'Fallback models, suffixes, provider preferences.',
        load: () => import('../../../docs/routing.md?raw'),
      },
      {
        slug: 'presets',
        title: 'Presets',
        about: 'Models, routing, limits and a system text under a name.',
        load: () => import('../../../docs/presets.md?raw'),
      },
      {
        slug: 'auto',
        title: 'auto',
        about: 'How auto chooses a model.',
        load: () => import('../../../docs/auto.md?raw'),
      },
      {
        slug: 'errors',
        title: 'Errors',
        about: 'Codes, retries, rate limits.',
        load: () => import('../../../docs/errors.md?raw'),
      },
      {
        slug: 'http-api',
        file: 'api.md',
        title: 'HTTP API',
        about: 'Every field and header, and every endpoint.',
        load: () => import('../../../docs/api.md?raw'),
      },
    ],
  },
  {
    name: 'Agents and libraries',
    pages: [
      {
        slug: 'agents',
        title: 'Agents',
        about: 'Set up Claude Code, Codex, OpenCode, aider and Cline.',
        load: () => import('../../../docs/agents.md?raw'),
      },
      {
        slug: 'client-libraries',
        title: 'Client libraries',
        about: 'What works with which library.',
        load: () => import('../../../docs/client-libraries.md?raw'),
      },
    ],
  },
  {
    name: 'Account',
    pages: [
      {
        slug: 'billing',
        title: 'Billing',
        about: 'What calls cost, top-ups, alerts and limits.',
        load: () => import('../../../docs/billing.md?raw'),
      },
      {
        slug: 'byok',
        title: 'Your own provider keys',
        about: 'Which key a call uses, and what happens when it fails.',
        load: () => import('../../../docs/byok.md?raw'),
      },
      {
        slug: 'webhooks',
        title: 'Webhooks',
        about: 'Events for your server: verification and retries.',
        load: () => import('../../../docs/webhooks.md?raw'),
      },
      {
        slug: 'organisations',
        title: 'Account and organisations',
        about: 'Sign-in, sessions, deletion; members, roles, invitations.',
        load: () => import('../../../docs/organisations.md?raw'),
      },
    ],
  },
]

export const DOC_GROUPS: readonly DocGroup[] = GROUPS.map(({ name, pages }) => ({
  name,
  pages: pages.map((page) => ({ file: `${page.slug}.md`, ...page })),
}))

export const DOC_PAGES: readonly DocPage[] = DOC_GROUPS.flatMap(({ pages }) => pages)

/** Where a link of a page leads: to a page of the console, to another site, or nowhere that users can open. */
export type DocLink =
  | { kind: 'page'; slug: string; hash: string }
  | { kind: 'heading'; hash: string }
  | { kind: 'web'; href: string }
  | { kind: 'none' }

/** Reads the address of a link as it is written in docs/. Pages for operators and decisions are not in the console. */
export function docLink(href: string): DocLink {
  if (/^https?:\/\//.test(href)) return { kind: 'web', href }
  const [file = '', hash = ''] = href.split('#')
  if (file === '') return { kind: 'heading', hash }
  const page = DOC_PAGES.find((each) => each.file === file)
  return page ? { kind: 'page', slug: page.slug, hash } : { kind: 'none' }
}
