import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import type { Invitation } from '../../../accounts/organisation/invitation-store.ts'
import type { SentInvitation } from '../../../accounts/organisation/invitations.ts'
import type { MemberRole } from '../../../core/accounts/member-permissions.ts'
import { jsonView } from '../../../core/api/json-view.ts'
import {
  EndMembershipBody,
  InvitationBody,
  InvitationView,
  MemberBudgetBody,
  MemberList,
  MemberPatch,
  SentInvitationView,
} from '../../../core/api/organisations.ts'
import { readUsd } from '../../../core/api/request-fields.ts'
import { allowancePeriod } from '../../../core/billing/allowance-period.ts'
import { MONTHLY } from '../../../core/billing/budget.ts'
import { normalizeEmail } from '../../../core/kernel/email-address.ts'
import { ApiError } from '../../../core/kernel/errors.ts'
import { formatUsd, formatUsdOrNull } from '../../../core/kernel/money.ts'
import { isoTime } from '../../../core/kernel/time.ts'
import { OfId } from '../../page.ts'
import { actingOn, refuseUnpermitted } from '../../plugins/session.ts'
import { organisationOf } from './acting-organisation.ts'

/** The members of the session's organisation, and its invitations. */
export const memberRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { spend } = app.billing.reports
  const { members, invitationStore, invitations, monthlyBudgets, announce, clock } = app.accounts
  const toView = { onRequest: [app.requirePermission('view')] }
  const toManage = { onRequest: [app.requirePermission('members')] }

  /** Throws ApiError if an owner is concerned and the person is not one. */
  const permitRoles = (request: FastifyRequest, ...roles: Array<MemberRole | undefined>): void => {
    if (roles.includes('owner')) refuseUnpermitted(request, 'ownership')
  }
  const roleOf = async (organisationId: string, personId: string) =>
    (await members.find(organisationId, personId))?.role

  app.get('/members', { ...toView, schema: { response: { 200: MemberList } } }, async (request) => {
    const { id } = organisationOf(request)
    const { person } = actingOn(request)
    const month = allowancePeriod(MONTHLY, clock())
    const [found, invited, spent] = await Promise.all([
      members.list(id),
      invitationStore.list(id),
      spend.byMember(id, month),
    ])
    return {
      data: found.map(({ personId, email, role, monthlyBudgetPico: budget, keys, joinedAt }) => {
        const spentPico = spent.get(personId) ?? 0n
        return {
          ...{ id: personId, email, role, keys, joined_at: isoTime(joinedAt) },
          is_you: personId === person.id,
          monthly_budget_usd: formatUsdOrNull(budget),
          spent_usd: formatUsd(spentPico),
          remaining_usd: budget === null ? null : formatUsd(budget > spentPico ? budget - spentPico : 0n),
        }
      }),
      invitations: invited.map(invitationView),
      budgets_reset_at: isoTime(month.endsAt ?? 0),
    }
  })

  const changing = { ...toManage, schema: { params: OfId, body: MemberPatch } }
  app.patch('/members/:id', changing, async (request, reply) => {
    const { id: organisationId } = organisationOf(request)
    const { role } = request.body
    permitRoles(request, role, await roleOf(organisationId, request.params.id))
    const former = await members.setRole(organisationId, request.params.id, role)
    // The role determines the permissions of the member's keys.
    await announce({ accountId: organisationId })
    await app.recordAction(request, 'member.role_changed', request.params.id, { role, former_role: former })
    return reply.code(204).send()
  })

  const budgeting = {
    onRequest: [app.requirePermission('limits')],
    schema: { params: OfId, body: MemberBudgetBody },
  }
  app.patch('/members/:id/budget', budgeting, async (request, reply) => {
    const { id: organisationId } = organisationOf(request)
    const budgetPico = readUsd(request.body.monthly_budget_usd)
    await monthlyBudgets.setMemberBudget(organisationId, request.params.id, budgetPico)
    await app.recordAction(request, 'member.budget_set', request.params.id, {
      monthly_budget_usd: formatUsdOrNull(budgetPico),
    })
    return reply.code(204).send()
  })

  const removing = { ...toManage, schema: { params: OfId, body: EndMembershipBody } }
  app.post('/members/:id/remove', removing, async (request, reply) => {
    const { id: organisationId } = organisationOf(request)
    permitRoles(request, await roleOf(organisationId, request.params.id))
    await end(request, request.params.id, 'member.removed')
    return reply.code(204).send()
  })

  const leaving = { ...toView, schema: { body: EndMembershipBody } }
  app.post('/organisation/leave', leaving, async (request, reply) => {
    // A leaving member cannot decide who takes over the keys.
    if (request.body.keys_go_to !== undefined) refuseUnpermitted(request, 'members')
    await end(request, actingOn(request).person.id, 'member.left')
    return reply.code(204).send()
  })

  const end = async (
    request: FastifyRequest & { body: EndMembershipBody },
    personId: string,
    action: 'member.removed' | 'member.left',
  ): Promise<void> => {
    const { id: organisationId } = organisationOf(request)
    const { keys_go_to: keysGoTo = null } = request.body
    await members.remove(organisationId, personId, keysGoTo)
    if (keysGoTo === null) await announce({ accountId: organisationId })
    else await monthlyBudgets.keysTakenOver(organisationId, keysGoTo)
    await app.recordAction(request, action, personId, { keys: keysGoTo === null ? 'revoked' : 'handed over' })
  }

  const inviting = { ...toManage, schema: { body: InvitationBody, response: { 201: SentInvitationView } } }
  app.post('/members/invitations', inviting, async (request, reply) => {
    const { id: organisationId } = organisationOf(request)
    const { email: given, role } = request.body
    permitRoles(request, role)
    const email = normalizeEmail(given)
    const sent = await invitations.invite(organisationId, actingOn(request).person, email, role)
    await app.recordAction(request, 'member.invited', sent.invitation.id, { email, role })
    return reply.code(201).send(sentView(sent))
  })

  /**
   * An invitation of the organisation. Throws ApiError 404, and 403 for an owner's invitation if the person is not an
   * owner.
   */
  const invitationOf = async (request: FastifyRequest & { params: { id: string } }): Promise<Invitation> => {
    const { id: organisationId } = organisationOf(request)
    const found = await invitationStore.find(request.params.id)
    if (found?.accountId !== organisationId) throw noSuchInvitation()
    permitRoles(request, found.role)
    return found
  }

  const resending = { ...toManage, schema: { params: OfId, response: { 200: SentInvitationView } } }
  app.post('/members/invitations/:id/resend', resending, async (request) => {
    const sent = await invitations.resend(actingOn(request).person, await invitationOf(request))
    if (!sent) throw noSuchInvitation()
    return sentView(sent)
  })

  const revoking = { ...toManage, schema: { params: OfId } }
  app.delete('/members/invitations/:id', revoking, async (request, reply) => {
    const { accountId, id } = await invitationOf(request)
    const revoked = await invitationStore.revoke(accountId, id)
    if (!revoked) throw noSuchInvitation()
    await app.recordAction(request, 'invitation.revoked', revoked.id, { email: revoked.email })
    return reply.code(204).send()
  })
}

const noSuchInvitation = (): ApiError =>
  new ApiError('not_found', 'This organisation has no invitation with this id.')

const invitationView = (invitation: Invitation): InvitationView => jsonView(InvitationView, invitation)

const sentView = ({ invitation, token }: SentInvitation): SentInvitationView => ({
  invitation: invitationView(invitation),
  link: token === null ? null : `/invitation#${token}`,
})
