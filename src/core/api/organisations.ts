import { type Static, Type } from 'typebox'
import { CLOSED, line } from './request-fields.ts'

const name = line('name', 1, 80)

/**
 * POST /console/api/organisations → 201 SessionView: it is acted on from now on. PATCH /console/api/organisation → 200
 * SessionView: the one that is acted on gets another name.
 */
export const OrganisationBody = Type.Object({ name }, CLOSED)
export type OrganisationBody = Static<typeof OrganisationBody>
