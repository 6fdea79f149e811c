import type { onRequestHookHandler, RouteOptions } from 'fastify'
import { lifecycleHeaders, type Surface } from '../../core/api/surfaces/surface-registry.ts'

/** The surface that a route serves; `HEAD` is a `GET` without its body. */
export function surfaceOfRoute(
  { method, url }: Pick<RouteOptions, 'method' | 'url'>,
  surfaces: readonly Surface[],
): Surface | undefined {
  const asked = method === 'HEAD' ? 'GET' : method
  return surfaces.find((surface) => surface.method === asked && routerPath(surface.path) === url)
}

/** A path of the registry as the router writes it. */
export const routerPath = (path: string): string => path.replaceAll(':', '::').replace(/\{(\w+)\}/g, ':$1')

/** Announces in every response of an open surface that it goes away. To those who may not use a granted one it is not there. */
export function announceLifecycle(route: Pick<RouteOptions, 'onRequest'>, surface: Surface): void {
  const headers = lifecycleHeaders(surface.lifecycle)
  if (surface.access !== 'open' || Object.keys(headers).length === 0) return
  const announce: onRequestHookHandler = (_request, reply, done) => {
    reply.headers(headers)
    done()
  }
  route.onRequest = [announce, ...[route.onRequest ?? []].flat()]
}
