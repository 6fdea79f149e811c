import type { PasskeyResponse } from '../../src/core/api/second-factor.ts'
import { RequestFailure } from '../api/request.ts'

/** Why this browser cannot use passkeys of this address; null if it can. */
export function passkeyProblem(): string | null {
  if (/^[\d.]+$|:/.test(window.location.hostname))
    return "Passkeys don't work on an IP address. Open the console at localhost or at the gateway's host name."
  if (!window.isSecureContext) return 'Passkeys need https.'
  return 'PublicKeyCredential' in window ? null : 'This browser does not support passkeys.'
}

/** Has the browser make a passkey. Throws RequestFailure if it does not. */
export async function makePasskey(options: Record<string, unknown>): Promise<PasskeyResponse> {
  const { startRegistration } = await import('@simplewebauthn/browser')
  return attempt(() => startRegistration({ optionsJSON: options as never }))
}

/** Has the browser sign with a passkey. Throws RequestFailure if it does not. */
export async function signWithPasskey(options: Record<string, unknown>): Promise<PasskeyResponse> {
  const { startAuthentication } = await import('@simplewebauthn/browser')
  return attempt(() => startAuthentication({ optionsJSON: options as never }))
}

async function attempt(ceremony: () => Promise<object>): Promise<PasskeyResponse> {
  try {
    return (await ceremony()) as PasskeyResponse
  } catch (error) {
    const { name } = error as Error
    const message =
      name === 'InvalidStateError'
        ? 'This device has a passkey of this account already.'
        : 'The passkey was not used: it was cancelled, or took too long. Try again.'
    throw new RequestFailure(message, { status: 0, code: 'passkey' })
  }
}
