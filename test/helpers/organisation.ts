import type { MemberRole } from '../../src/core/accounts/member-permissions.ts'
import type { SessionView } from '../../src/core/api/sessions.ts'
import { type ConsoleClient, signedUp } from './console-client.ts'
import type { TestStack } from './stack.ts'

export type Member = ConsoleClient & { email: string; personId: string }

/** An organisation with a member of each role, who all act on it. */
export async function organisationOf(
  { url, postgres }: Pick<TestStack, 'url' | 'postgres'>,
  roles: readonly MemberRole[],
): Promise<{ accountId: string; members: Record<MemberRole, Member> }> {
  const owner = await member(url)
  const name = `Works ${Date.now()}`
  const { account } = await owner.json<SessionView>('/console/api/organisations', { body: { name } })
  const members = new Map<MemberRole, Member>([['owner', owner]])
  for (const role of roles.filter((other) => other !== 'owner')) {
    const one = await member(url)
    await postgres.organisationMember.create({
      data: { accountId: account.id, personId: one.personId, role },
    })
    await actOn(one, account.id)
    members.set(role, one)
  }
  return { accountId: account.id, members: Object.fromEntries(members) as Record<MemberRole, Member> }
}

/** A person with an account of their own. */
export async function member(url: string): Promise<Member> {
  const client = await signedUp(url)
  const { person } = await client.json<SessionView>('/console/api/session')
  return { ...client, personId: person.id }
}

export const actOn = (client: ConsoleClient, accountId: string): Promise<SessionView> =>
  client.json<SessionView>('/console/api/session/account', { body: { account_id: accountId } })
