import helmet from '@fastify/helmet'
import type { FastifyInstance } from 'fastify'

type Directives = Record<string, string[]>

/** For our own pages and their JSON: nothing from anywhere but this host, and nothing inline. */
const OWN_PAGES: Directives = {
  defaultSrc: ["'none'"],
  scriptSrc: ["'self'"],
  styleSrc: ["'self'"],
  imgSrc: ["'self'", 'data:'],
  fontSrc: ["'self'"],
  connectSrc: ["'self'"],
  manifestSrc: ["'self'"],
  formAction: ["'self'"],
  frameAncestors: ["'none'"],
  baseUri: ["'none'"],
}

/** Bull Board's page has a style element and style attributes, and a base element. Its link to a font host stays blocked. */
const QUEUES_DASHBOARD: Directives = {
  ...OWN_PAGES,
  styleSrc: ["'self'", "'unsafe-inline'"],
  baseUri: ["'self'"],
}

const POLICIES = { 'own-pages': OWN_PAGES, 'queues-dashboard': QUEUES_DASHBOARD }

/** Gives every answer of this scope the headers that keep a browser from doing more than its page needs. */
export async function secureHeaders(
  scope: FastifyInstance,
  policy: keyof typeof POLICIES,
  isSecure: boolean,
): Promise<void> {
  await scope.register(helmet, {
    contentSecurityPolicy: { useDefaults: false, directives: POLICIES[policy] },
    strictTransportSecurity: isSecure && { maxAge: 31_536_000, includeSubDomains: false },
    referrerPolicy: { policy: 'same-origin' },
    xFrameOptions: { action: 'deny' },
  })
}
