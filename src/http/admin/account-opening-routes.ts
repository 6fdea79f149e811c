import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { InvitationDelivery } from '../../accounts/account-invitation.ts'
import { AccountInvited, AccountOpened, NewAccountRequest } from '../../core/api/accounts.ts'
import { CreatedOperatorKey, NewCustomerKeyBody } from '../../core/api/keys.ts'
import { normalizeEmail } from '../../core/kernel/email-address.ts'
import { parseUsd } from '../../core/kernel/money.ts'
import { readNewKey } from '../account/keys/read-key-settings.ts'
import { OfId } from '../page.ts'
import { askingOperator, needs, operatorRoute } from '../plugins/operator-access.ts'
import { accountView, keyView } from './account-routes.ts'

/** Opening accounts for customers, inviting them, and issuing their keys. */
export const accountOpeningRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { accountManagement, accountOpening, hostClock: clock } = app.operators
  app.post(
    '/accounts',
    { ...needs('accounts.write'), schema: { body: NewAccountRequest, response: { 201: AccountOpened } } },
    async (request, reply) => {
      const { email, credit_usd: credit, reason } = request.body
      const { account, invitation } = await accountOpening.open(askingOperator(request), {
        email: normalizeEmail(email),
        creditPico: credit === undefined ? null : parseUsd(credit),
        ...(reason !== undefined && { reason: reason.trim() }),
      })
      return reply.code(201).send({
        object: 'account_opened' as const,
        account: accountView(account),
        invitation: invitedView(account.id, invitation),
      })
    },
  )

  app.post(
    '/accounts/:id/invite',
    operatorRoute('accounts.write', AccountInvited, { params: OfId }),
    async (request) => {
      const account = await accountManagement.find(request.params.id)
      return invitedView(account.id, await accountOpening.invite(askingOperator(request), account))
    },
  )

  app.post(
    '/accounts/:id/keys',
    {
      ...needs('accounts.write'),
      schema: { params: OfId, body: NewCustomerKeyBody, response: { 201: CreatedOperatorKey } },
    },
    async (request, reply) => {
      const { id } = await accountManagement.find(request.params.id)
      const settings = readNewKey(request.body, clock())
      const { key, secret } = await accountOpening.issueKey(askingOperator(request), id, settings)
      return reply.code(201).send({ secret, key: keyView(key) })
    },
  )
}

const invitedView = (accountId: string, invitation: InvitationDelivery): AccountInvited => ({
  object: 'invitation',
  account_id: accountId,
  mailed: invitation.kind === 'mailed',
  path: invitation.kind === 'link' ? invitation.path : null,
})
