import { parseCookie, stringifySetCookie } from 'cookie'
import type { FastifyReply, FastifyRequest } from 'fastify'

/**
 * The kind of a cookie's session; a browser may have both. `oauth` and `operator_sso`: not a session, but the step of a
 * sign-in with a provider.
 */
export type SessionKind = 'account' | 'operator' | 'oauth' | 'operator_sso'

/** Reads and writes session cookies. Scripts cannot read them, and forms of other sites do not send them. */
export type SessionCookies = ReturnType<typeof createSessionCookies>

const NAMES: Record<SessionKind, string> = {
  account: 'shuntyard_session',
  operator: 'shuntyard_operator',
  oauth: 'shuntyard_oauth',
  operator_sso: 'shuntyard_operator_sso',
}

/** `isSecure`: browsers connect by https. Then a browser accepts these cookies from this host only. */
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
