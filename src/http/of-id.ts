import { Type } from 'typebox'

/** The parameters of a route that names a resource: `/things/:id`. */
export const OfId = Type.Object({ id: Type.String() })
