import plugin from 'fastify-plugin'
import { callingKey } from './authenticate.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** It asks for a call, and its key has guardrails. */
    isToGuard: boolean
    /** Guardrails were asked about its prompt. */
    isGuarded: boolean
  }
}

/** Asks the guardrails of a key about the body of every call, once it is valid. Forms are asked about where they are read. */
export const guardPrompts = plugin(
  async (app) => {
    app.decorateRequest('isToGuard', false)
    app.decorateRequest('isGuarded', false)
    app.addHook('preHandler', (request, reply, done) => {
      const { body, isToGuard } = request
      if (!isToGuard || typeof body !== 'object' || body === null) return done()
      const asked = app.calls
        .guards()
        .then((guards) => guards.prompt(callingKey(request), body, request, reply))
      asked.then(() => done(), done)
    })
  },
  { name: 'guard-prompts', dependencies: ['authenticate'] },
)
