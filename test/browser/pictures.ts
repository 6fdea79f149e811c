/** A picture of a page in docs/screenshots; beside it lies the outline of the page, which the tests compare. */
export interface Picture {
  name: string
  /** CALL stands for the id of a call. */
  path: string
  /** The addresses of the tests' own pages that have the same parts. */
  tested: RegExp
}

/** Few: those that the docs show, and the pages that people look for first. */
export const PICTURES = {
  everyone: [
    { name: 'landing', path: '/', tested: /^\/$/ },
    { name: 'models', path: '/models', tested: /^\/models$/ },
    { name: 'model', path: '/models/anthropic/claude-sonnet-5', tested: /^\/models\/acme\/swift$/ },
  ],
  account: [{ name: 'usage', path: '/usage', tested: /^\/usage$/ }],
  operators: [
    { name: 'admin-overview', path: '/admin', tested: /^\/admin$/ },
    { name: 'admin-call', path: '/admin/calls/CALL', tested: /^\/admin\/calls\/[^/]+$/ },
  ],
} as const satisfies Record<string, readonly Picture[]>

/** The picture of the page at an address, if there is one. */
export function pictureOf(url: string): Picture | undefined {
  const { pathname, search } = new URL(url)
  return search === ''
    ? Object.values(PICTURES)
        .flat()
        .find(({ tested }) => tested.test(pathname))
    : undefined
}
