/** The path below which clients reach the gateway, without a slash at its end; empty: the root of its host. */
export const publicPathOf = (publicUrl: string | null): string =>
  publicUrl === null ? '' : new URL(publicUrl).pathname.replace(/\/+$/, '')
