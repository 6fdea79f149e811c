import { SURFACES } from '../core/api/surfaces/surface-registry.ts'
import { grantView } from '../http/admin/surface-routes.ts'
import type { AdminCommands, AdminContext } from './admin-command.ts'
import { lines, list, named, one } from './run-command.ts'

const SURFACE = 'name the surface: its id, as in surface list'

const holderOf = ({ surfaceManagement, input }: AdminContext) => {
  const [account, keyId] = [input.option('account'), input.option('key')]
  const everyAccount = input.flag('every-account')
  return surfaceManagement.findHolder({
    ...(account && { account }),
    ...(keyId && { keyId }),
    ...(everyAccount && { everyAccount }),
  })
}
const view = (grant: Parameters<typeof grantView>[0]) => named('grant_id', grantView(grant))

/** Surfaces that operators open to accounts, keys and all accounts. */
export const surfaceCommands: AdminCommands = {
  async 'surface list'(context) {
    const { surfaceManagement, input } = context
    const isOfHolder =
      input.option('account') !== undefined ||
      input.option('key') !== undefined ||
      input.flag('every-account')
    if (isOfHolder) {
      const grants = await surfaceManagement.list(await holderOf(context))
      return list('grants', grants.map(view), 'Nothing is opened to it.')
    }
    const grants = await surfaceManagement.list()
    const surfaces = SURFACES.map(({ id, method, path, status, access }) => {
      const operation = `${method} ${path}`
      return {
        surface: id,
        operation,
        status,
        access,
        grants: grants.filter((grant) => grant.surface === id),
      }
    })
    return {
      data: { surfaces: surfaces.map((surface) => ({ ...surface, grants: surface.grants.map(view) })) },
      text: surfaces.map((surface) => lines({ ...surface, grants: surface.grants.length })).join('\n\n'),
    }
  },

  async 'surface open'(context) {
    const { surfaceManagement, operator, input } = context
    return one(view(await surfaceManagement.open(operator, input.subject(SURFACE), await holderOf(context))))
  },

  async 'surface close'(context) {
    const { surfaceManagement, operator, input } = context
    const closed = await surfaceManagement.close(operator, input.subject(SURFACE), await holderOf(context))
    return one({ ...view(closed), closed: true })
  },
}
