import { type Static, Type } from 'typebox'
import {
  OPERATOR_ROLES,
  type OperatorPermission,
  type OperatorRole,
  PERMISSIONS,
} from '../accounts/operator-permissions.ts'
import { CLOSED, line, nullable, optional } from './request-fields.ts'
import { IsoTime } from './shared.ts'

export const OperatorRoleName = Type.Enum([...OPERATOR_ROLES])

/** The roles that have each permission. */
export const RolesByPermission = Type.Unsafe<Readonly<Record<OperatorPermission, readonly OperatorRole[]>>>(
  Type.Record(Type.Enum(Object.keys(PERMISSIONS)), Type.Array(OperatorRoleName)),
)

/** An admin key without its secret. */
export const AdminKeyView = Type.Object({
  id: Type.String(),
  name: Type.String(),
  state: Type.Enum(['active', 'revoked']),
  /** First and last characters of the secret. */
  hint: Type.String(),
  expires_at: nullable(IsoTime),
  created_at: IsoTime,
  revoked_at: nullable(IsoTime),
})
export type AdminKeyView = Static<typeof AdminKeyView>

export const OperatorView = Type.Object({
  id: Type.String(),
  name: Type.String(),
  /** Null: can sign in only with admin keys. */
  email: nullable(Type.String()),
  role: OperatorRoleName,
  state: Type.Enum(['active', 'disabled']),
  created_at: IsoTime,
})
export type OperatorView = Static<typeof OperatorView>

/** GET /admin/api/operators: `List<OperatorDetail>`, oldest first; their keys newest first. */
export const OperatorDetail = Type.Object({
  ...OperatorView.properties,
  /** Whether the operator has used single sign-on. */
  single_sign_on: Type.Boolean(),
  keys: Type.Array(AdminKeyView),
})
export type OperatorDetail = Static<typeof OperatorDetail>

/** POST /admin/api/operators → 201 OperatorView; 409 `email_taken` if an active operator has the email. */
export const NewOperatorBody = Type.Object(
  {
    name: line('name', 1, 100),
    email: optional(
      Type.String({ format: 'email', errorMessage: 'Enter an email address such as ann@example.com.' }),
    ),
    role: OperatorRoleName,
  },
  CLOSED,
)
export type NewOperatorBody = Static<typeof NewOperatorBody>

/**
 * POST /admin/api/operators/:id/role, and without a body …/disable and …/enable → 200 OperatorView; 409 `conflict` for the
 * last admin.
 */
export const OperatorRoleBody = Type.Object({ role: OperatorRoleName }, CLOSED)

/** POST /admin/api/operators/:id/keys → 201 CreatedAdminKey. POST /admin/api/admin-keys/:id/revoke → 200 AdminKeyView. */
export const NewAdminKeyBody = Type.Object(
  {
    name: line('name', 0, 100),
    expires_in_days: optional(Type.Integer({ minimum: 1, maximum: 3_650 })),
  },
  CLOSED,
)

export const CreatedAdminKey = Type.Object({
  /** The secret, returned only once. */
  secret: Type.String(),
  key: AdminKeyView,
})
export type CreatedAdminKey = Static<typeof CreatedAdminKey>
