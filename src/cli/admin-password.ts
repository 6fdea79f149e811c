import { randomBytes } from 'node:crypto'
import { createAccountStore } from '../accounts/account-store.ts'
import { createCredentialStore } from '../accounts/credential-store.ts'
import { createPasswordHasher } from '../accounts/password-hash.ts'
import { postLedger } from '../billing/ledger/ledger-store.ts'
import type { CommandClients } from './clients.ts'
import { type CommandOutput, UsageError } from './run-command.ts'
import { lines } from './views.ts'

/** 120 random bits. */
const PASSWORD_BYTES = 15

/**
 * `admin account set-password`: lets the holder of an account sign in to the console, or sign in again. The password
 * is made here, so that none stands in a shell's history, and is shown once; its holder changes it.
 */
export async function setAccountPassword(
  { postgres }: CommandClients,
  idOrEmail: string | undefined,
): Promise<CommandOutput> {
  if (!idOrEmail) throw new UsageError('name the account: its id or its email')
  const account = await createAccountStore(postgres, postLedger).find(idOrEmail)
  if (!account) throw new Error(`there is no account ${idOrEmail}`)
  const password = randomBytes(PASSWORD_BYTES).toString('base64url')
  const passwordHash = await createPasswordHasher().hash(password, { group: 'operator', isKnown: true })
  await createCredentialStore(postgres).setPassword(account.id, passwordHash)
  const view = { account_id: account.id, email: account.email }
  return {
    data: { ...view, password },
    text: `${password}\n\nThis is the only time the password is shown. Its holder signs in with it and changes it.\n\n${lines(view)}`,
  }
}
