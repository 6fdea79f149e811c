import { type Static, Type } from 'typebox'
import { OPERATOR_ROLES, PERMISSIONS, type Permission } from '../operations/permissions.ts'
import { nullable } from './request-fields.ts'
import { IsoTime } from './shared.ts'

export const OperatorRoleName = Type.Enum([...OPERATOR_ROLES])

export const PermissionName = Type.Enum(Object.keys(PERMISSIONS) as Permission[])

/** GET /admin/api/operators: `List<OperatorView>`, oldest first. */
export const OperatorView = Type.Object({
  id: Type.String(),
  name: Type.String(),
  /** Null: signs in with admin keys alone. */
  email: nullable(Type.String()),
  role: OperatorRoleName,
  state: Type.Enum(['active', 'disabled']),
  created_at: IsoTime,
})
export type OperatorView = Static<typeof OperatorView>
