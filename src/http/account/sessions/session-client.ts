import type { FastifyRequest } from 'fastify'
import type { SessionClient } from '../../../accounts/session-store.ts'

/** Where a request comes from, as sessions remember it. */
export const clientOf = ({ ip, headers }: FastifyRequest): SessionClient => ({
  networkAddress: ip,
  userAgent: headers['user-agent'] ?? '',
})
