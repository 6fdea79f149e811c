import { parseCookie, stringifySetCookie } from 'cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'

/**
 * Whose session a cookie carries; a browser may have both. `oauth` and `operator_sso`: no session, but the step of a
 * sign-in that went to another service.
 */
export type SessionKind = 'account' | 'operator' | 'oauth' | 'operator_sso'

/** Reads and writes the cookies of sessions. No script can read them, and no other site's form sends them. */
export type SessionCookies = ReturnType<typeof createSessionCookies>

const NAMES: Record<SessionKind, string> = {
  account: 'switchyard_session',
  operator: 'switchyard_operator',
  oauth: 'switchyard_oauth',
  operator_sso: 'switchyard_operator_sso',
}

/** `isSecure`: browsers reach us by https. Then a browser takes these cookies from this very host alone. */
export function createSessionCookies(isSecure: boolean) {
  const nameOf = (kind: SessionKind) => (isSecure ? `__Host-${NAMES[kind]}` : NAMES[kind])
  const set = (reply: FastifyReply, kind: SessionKind, value: string, expires: Date) =>
    void reply.header(
      'set-cookie',
      stringifySetCookie({
        name: nameOf(kind),
        value,
        expires,
        path: '/',
        httpOnly: true,
        sameSite: 'lax',
        secure: isSecure,
      }),
    )
  return {
    /** The token in the request's cookie; null without one. */
    read: ({ headers }: FastifyRequest, kind: SessionKind): string | null =>
      parseCookie(headers.cookie ?? '')[nameOf(kind)] ?? null,
    write: (reply: FastifyReply, kind: SessionKind, token: string, expiresAt: Date): void =>
      set(reply, kind, token, expiresAt),
    clear: (reply: FastifyReply, kind: SessionKind): void => set(reply, kind, '', new Date(0)),
  }
}
