/** The public base path of the gateway, without a trailing slash; empty: the root of its host. */
export const publicPathOf = (publicUrl: string | null): string =>
  publicUrl === null ? '' : new URL(publicUrl).pathname.replace(/\/+$/, '')
