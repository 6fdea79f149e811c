import { type Static, Type } from 'typebox'
import { CLOSED, line, nullable } from './request-fields.ts'

const password = Type.String({ minLength: 1, maxLength: 256 })
const step = line('step', 1, 100)
const totpCode = Type.String({ pattern: '^\\d{6}$', errorMessage: 'Enter the six digits of the code.' })

/** A WebAuthn response as serialized by `@simplewebauthn/browser`. Its content is read only after verification. */
export const PasskeyResponse = Type.Object({
  id: Type.String({ minLength: 1, maxLength: 1_400 }),
  rawId: Type.String({ maxLength: 1_400 }),
  type: Type.Literal('public-key'),
  response: Type.Record(Type.String(), Type.Unknown()),
  clientExtensionResults: Type.Record(Type.String(), Type.Unknown()),
  authenticatorAttachment: Type.Optional(Type.String({ maxLength: 40 })),
})
export type PasskeyResponse = Static<typeof PasskeyResponse>

/** WebAuthn options, which the page passes to the browser. */
const PasskeyOptions = Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true })

/** 202 of POST /console/api/sign-in: the password was right, and one of these factors is required. */
export const SecondFactorAsked = Type.Object({
  /** Identifies this sign-in for ten minutes. */
  step: Type.String(),
  totp: Type.Boolean(),
  /** Null: the account has no passkey. */
  passkey: nullable(PasskeyOptions),
})
export type SecondFactorAsked = Static<typeof SecondFactorAsked>

/** POST /console/api/sign-in/asked → 200 SecondFactorAsked: for a step that started at an identity provider. */
export const StepBody = Type.Object({ step }, CLOSED)

/**
 * POST /console/api/sign-in/second-factor → 200 SessionView, 401 `invalid_credentials` for a wrong code, 429 after too
 * many. Exactly one of the three.
 */
export const SecondFactorBody = Type.Object(
  {
    step,
    code: Type.Optional(totpCode),
    recovery_code: Type.Optional(line('recovery_code', 1, 60)),
    passkey: Type.Optional(PasskeyResponse),
  },
  CLOSED,
)
export type SecondFactorBody = Static<typeof SecondFactorBody>

/** POST /console/api/sign-in/passkey-options → 200. POST /console/api/sign-in/passkey → 200 SessionView. */
export const PasskeyAsked = Type.Object({ step: Type.String(), options: PasskeyOptions })
export type PasskeyAsked = Static<typeof PasskeyAsked>
export const PasskeyBody = Type.Object({ step, passkey: PasskeyResponse }, CLOSED)
export type PasskeyBody = Static<typeof PasskeyBody>

/** GET /console/api/second-factor → 200. */
export const SecondFactorView = Type.Object({
  totp: Type.Boolean(),
  passkeys: Type.Array(
    Type.Object({
      id: Type.String(),
      name: Type.String(),
      created_at: Type.String(),
      last_used_at: nullable(Type.String()),
    }),
  ),
  recovery_codes_left: Type.Integer(),
})
export type SecondFactorView = Static<typeof SecondFactorView>

/** Changing the second factor requires the password. */
export const ConfirmedBody = Type.Object({ current_password: password }, CLOSED)
export type ConfirmedBody = Static<typeof ConfirmedBody>

/** POST /console/api/second-factor/totp → 201: the secret for an app, also as a URI for a QR code. Shown once. */
export const NewTotp = Type.Object({ secret: Type.String(), uri: Type.String() })
export type NewTotp = Static<typeof NewTotp>

/** POST /console/api/second-factor/totp/confirm → 200. */
export const TotpCodeBody = Type.Object({ code: totpCode }, CLOSED)
export type TotpCodeBody = Static<typeof TotpCodeBody>

/** Shown once. Null: the account already has codes. */
export const NewRecoveryCodes = Type.Object({
  recovery_codes: Type.Unsafe<string[] | null>({ type: ['array', 'null'], items: { type: 'string' } }),
})
export type NewRecoveryCodes = Static<typeof NewRecoveryCodes>

/** POST /console/api/second-factor/passkey-options {current_password} → 200 PasskeyAsked; …/passkeys → 200. */
export const NewPasskeyBody = Type.Object(
  { step, name: line('name', 1, 60), passkey: PasskeyResponse },
  CLOSED,
)
export type NewPasskeyBody = Static<typeof NewPasskeyBody>
