/// <reference path="./raw-markdown.d.ts" />

/** The Markdown of the pages of docs/ that users read in the console, by their addresses: /docs/SLUG. */
const MARKDOWN = {
  'quick-start': () => import('../../../docs/quick-start.md?raw'),
  'api-keys': () => import('../../../docs/api-keys.md?raw'),
  playground: () => import('../../../docs/playground.md?raw'),
  streaming: () => import('../../../docs/streaming.md?raw'),
  routing: () => import('../../../docs/routing.md?raw'),
  presets: () => import('../../../docs/presets.md?raw'),
  auto: () => import('../../../docs/auto.md?raw'),
  errors: () => import('../../../docs/errors.md?raw'),
  'http-api': () => import('../../../docs/api.md?raw'),
  agents: () => import('../../../docs/agents.md?raw'),
  'client-libraries': () => import('../../../docs/client-libraries.md?raw'),
  billing: () => import('../../../docs/billing.md?raw'),
  byok: () => import('../../../docs/byok.md?raw'),
  webhooks: () => import('../../../docs/webhooks.md?raw'),
  organisations: () => import('../../../docs/organisations.md?raw'),
}

interface ListedPage {
  slug: keyof typeof MARKDOWN
  /** In docs/; absent: SLUG.md. */
  file?: string
  title: string
  /** What one finds there, in a line. */
  about: string
}

/** The pages in the order of the navigation. */
const GROUPS: ReadonlyArray<{ name: string; pages: ListedPage[] }> = [
  {
    name: 'Start',
    pages: [
      { slug: 'quick-start', title: 'Quick start', about: 'From an account to the first answer.' },
      { slug: 'api-keys', title: 'API keys', about: 'Create keys, limit and revoke them.' },
      { slug: 'playground', title: 'Playground', about: 'Try and compare models in the browser.' },
    ],
  },
  {
    name: 'Calling models',
    pages: [
      {
        slug: 'streaming',
        title: 'Streaming',
        about: 'Answers while they are made, and streams that break.',
      },
      { slug: 'routing', title: 'Routing', about: 'Fallback models, suffixes, provider preferences.' },
      { slug: 'presets', title: 'Presets', about: 'Models, routing, limits and a system text under a name.' },
      { slug: 'auto', title: 'auto', about: 'How auto chooses a model.' },
      { slug: 'errors', title: 'Errors', about: 'Codes, retries, rate limits.' },
      {
        slug: 'http-api',
        file: 'api.md',
        title: 'HTTP API',
        about: 'Every field and header, and every endpoint.',
      },
    ],
  },
  {
    name: 'Agents and libraries',
    pages: [
      { slug: 'agents', title: 'Agents', about: 'Set up Claude Code, Codex, OpenCode, aider and Cline.' },
      { slug: 'client-libraries', title: 'Client libraries', about: 'What works with which library.' },
    ],
  },
  {
    name: 'Account',
    pages: [
      { slug: 'billing', title: 'Billing', about: 'What calls cost, top-ups, alerts and limits.' },
      {
        slug: 'byok',
        title: 'Your own provider keys',
        about: 'Which key a call uses, and what happens when it fails.',
      },
      { slug: 'webhooks', title: 'Webhooks', about: 'Events for your server: verification and retries.' },
      {
        slug: 'organisations',
        title: 'Account and organisations',
        about: 'Sign-in, sessions, deletion; members, roles, invitations.',
      },
    ],
  },
]

export const DOC_GROUPS = GROUPS.map(({ name, pages }) => ({
  name,
  pages: pages.map((page) => ({ file: `${page.slug}.md`, ...page, load: MARKDOWN[page.slug] })),
}))

export const DOC_PAGES = DOC_GROUPS.flatMap(({ pages }) => pages)
export type DocPage = (typeof DOC_PAGES)[number]

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
