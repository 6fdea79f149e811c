import helmet from '@fastify/helmet'
import type { FastifyInstance } from 'fastify'

type Directives = Record<string, string[]>

/** For our own pages and their JSON: nothing from other hosts, and nothing inline. */
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

/** Adds the headers to every response of this scope that restrict a browser to what the page needs. */
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
