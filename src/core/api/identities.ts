import { type Static, Type } from 'typebox'
import { CLOSED } from './request-fields.ts'

/**
 * POST /console/api/oauth/PROVIDER → 200 RedirectView: the URL for the browser, which returns to GET
 * /console/api/oauth/PROVIDER/callback → 302. POST /console/api/identities/PROVIDER {current_password} does the same to
 * link an identity to the signed-in account.
 */
export const OauthBody = Type.Object(
  {
    /** The path of this site to open afterwards. */
    next: Type.Optional(Type.String({ maxLength: 500, pattern: '^/(?![/\\\\])[!-\\[\\]-~]*$' })),
  },
  CLOSED,
)
export type OauthBody = Static<typeof OauthBody>

export const RedirectView = Type.Object({ url: Type.String() })
export type RedirectView = Static<typeof RedirectView>

/** GET /console/api/identities → 200. POST /console/api/identities/PROVIDER/remove {current_password} → 204. */
export const IdentityList = Type.Object({
  data: Type.Array(Type.Object({ provider: Type.String(), email: Type.String(), created_at: Type.String() })),
})
export type IdentityList = Static<typeof IdentityList>
