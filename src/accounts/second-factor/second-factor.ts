import { ApiError, invalid } from '../../core/kernel/errors.ts'
import type { Notify } from '../mail/notify.ts'
import type { PasswordCheck } from '../password-check.ts'
import type { SignInSteps } from '../sign-in-steps.ts'
import type { SignInThrottle } from '../sign-in-throttle.ts'
import {
  type AuthenticationResponseJSON,
  type ListedPasskey,
  PASSKEYS_PER_ACCOUNT_MAX,
  type PasskeyCreationOptions,
  type PasskeySite,
  type Passkeys,
  type RegistrationResponseJSON,
} from './passkeys.ts'
import type { RecoveryCodes } from './recovery-codes.ts'
import type { TotpStore } from './totp.ts'

/** A second factor given at sign-in. */
export type GivenFactor =
  | { kind: 'totp'; code: string }
  | { kind: 'recovery_code'; code: string }
  | { kind: 'passkey'; response: AuthenticationResponseJSON; challenge: string; site: PasskeySite }

export interface FactorStores {
  totp: TotpStore
  passkeys: Passkeys
  codes: RecoveryCodes
}

/** Removes all second factors of an account whose holder lost them: the password alone signs in. */
export async function removeFactors(
  { totp, passkeys, codes }: FactorStores,
  accountId: string,
): Promise<void> {
  await Promise.all([totp.remove(accountId), passkeys.removeAll(accountId), codes.remove(accountId)])
}

/** The second factor of accounts: set up with the password, required at sign-in. */
export type SecondFactor = ReturnType<typeof createSecondFactor>

interface Holder {
  id: string
  email: string
}

interface SecondFactorDependencies extends FactorStores {
  steps: SignInSteps
  throttle: Pick<SignInThrottle, 'secondFactor' | 'longSecondFactor' | 'rightSecondFactor' | 'rightFirstCode'>
  passwordCheck: PasswordCheck
  notify: Notify
}

export function createSecondFactor(deps: SecondFactorDependencies) {
  const { totp, passkeys, codes, steps, throttle, passwordCheck, notify } = deps

  const factorsOf = async (accountId: string) => {
    const [hasTotp, hasPasskeys] = await Promise.all([totp.has(accountId), passkeys.has(accountId)])
    return { hasTotp, hasPasskeys }
  }
  const isOn = async (accountId: string): Promise<boolean> => {
    const { hasTotp, hasPasskeys } = await factorsOf(accountId)
    return hasTotp || hasPasskeys
  }
  /** Creates recovery codes for the first factor; null if the account has some. */
  const firstCodes = async (accountId: string): Promise<string[] | null> =>
    (await codes.left(accountId)) > 0 ? null : codes.replace(accountId)
  /** Without a factor there is nothing to recover. */
  const afterRemoval = async (accountId: string): Promise<void> => {
    if (!(await isOn(accountId))) await codes.remove(accountId)
  }

  return {
    factorsOf,

    async status(
      accountId: string,
    ): Promise<{ totp: boolean; passkeys: ListedPasskey[]; codesLeft: number }> {
      const [hasTotp, list, codesLeft] = await Promise.all([
        totp.has(accountId),
        passkeys.list(accountId),
        codes.left(accountId),
      ])
      return { totp: hasTotp, passkeys: list, codesLeft }
    },

    /** Starts the setup of an authenticator app. Throws ApiError for a wrong password, and if the account has one. */
    async beginTotp(account: Holder, password: string): Promise<{ secret: string; uri: string }> {
      await passwordCheck(account.id, password)
      const begun = await totp.begin(account.id, account.email)
      if (!begun) throw new ApiError('conflict', 'This account has an authenticator app. Remove it first.')
      return begun
    },

    /** Enables the app with its first code. Throws ApiError for a wrong code, and 429 after too many. */
    async confirmTotp(accountId: string, code: string): Promise<string[] | null> {
      await throttle.secondFactor(accountId)
      if (!(await totp.confirm(accountId, code))) throw wrongCode()
      await throttle.rightFirstCode(accountId)
      await notify(accountId, 'totp_added')
      return firstCodes(accountId)
    },

    async removeTotp(accountId: string, password: string): Promise<void> {
      await passwordCheck(accountId, password)
      if (!(await totp.remove(accountId))) return
      await afterRemoval(accountId)
      await notify(accountId, 'totp_removed')
    },

    async beginPasskey(
      site: PasskeySite,
      account: Holder,
      password: string,
    ): Promise<{ step: string; options: PasskeyCreationOptions }> {
      await passwordCheck(account.id, password)
      if ((await passkeys.list(account.id)).length >= PASSKEYS_PER_ACCOUNT_MAX)
        throw new ApiError(
          'conflict',
          `An account can have at most ${PASSKEYS_PER_ACCOUNT_MAX} passkeys. Remove one first.`,
        )
      const options = await passkeys.creationOptions(site, account)
      return { step: await steps.begin('new_passkey', account.id, { challenge: options.challenge }), options }
    },

    /** Adds the passkey of a step that this account began. */
    async addPasskey(
      site: PasskeySite,
      accountId: string,
      { step, name, response }: { step: string; name: string; response: RegistrationResponseJSON },
    ): Promise<string[] | null> {
      const begun = await steps.find('new_passkey', step)
      if (begun?.accountId !== accountId || !(await steps.end('new_passkey', step))) throw stepEnded()
      const { challenge } = begun.data
      if (!(await passkeys.add(site, { accountId, name, challenge }, response)))
        throw invalid('passkey', 'The browser’s response is not a valid new passkey of this site.')
      await notify(accountId, 'passkey_added')
      return firstCodes(accountId)
    },

    async removePasskey(accountId: string, id: string, password: string): Promise<void> {
      await passwordCheck(accountId, password)
      if (!(await passkeys.remove(accountId, id)))
        throw new ApiError('not_found', 'This account has no passkey with this id.')
      await afterRemoval(accountId)
      await notify(accountId, 'passkey_removed')
    },

    async replaceCodes(accountId: string, password: string): Promise<string[]> {
      await passwordCheck(accountId, password)
      if (!(await isOn(accountId)))
        throw new ApiError(
          'conflict',
          'Recovery codes need an authenticator app or a passkey. Add one first.',
        )
      const fresh = await codes.replace(accountId)
      await notify(accountId, 'recovery_codes_replaced')
      return fresh
    },

    /** Checks the factor given at sign-in. Throws ApiError if it is wrong, and 429 after too many. */
    async take(accountId: string, given: GivenFactor, networkAddress: string): Promise<void> {
      if (given.kind === 'totp') await throttle.secondFactor(accountId)
      else await throttle.longSecondFactor(accountId, networkAddress)
      if (!(await isRight(accountId, given))) throw wrongCode()
      await throttle.rightSecondFactor(accountId, networkAddress)
      if (given.kind === 'recovery_code') await notify(accountId, 'recovery_code_used')
    },
  }

  async function isRight(accountId: string, given: GivenFactor): Promise<boolean> {
    switch (given.kind) {
      case 'totp':
        return totp.take(accountId, given.code)
      case 'recovery_code':
        return codes.take(accountId, given.code)
      case 'passkey': {
        const { site, challenge, response } = given
        return (await passkeys.take(site, { challenge, isAlone: false }, response)) === accountId
      }
      default:
        return given satisfies never
    }
  }
}

const wrongCode = (): ApiError =>
  new ApiError('invalid_credentials', 'This code is wrong, has expired or was used before.', {
    param: 'code',
    challenge: 'Session',
  })

export const stepEnded = (): ApiError =>
  new ApiError('invalid_credentials', 'This sign-in has expired or was completed. Sign in again.', {
    param: 'step',
    challenge: 'Session',
  })
