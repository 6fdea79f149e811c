import type { SurfaceHolder } from '../../operators/surface-grant-store.ts'
import { type Change, done, type PlanServices } from './difference.ts'

/** What opens to a holder the surfaces that a file names, and closes others. */
export async function surfaceChanges(
  { surfaceManagement, operator }: PlanServices,
  name: string,
  wanted: readonly string[],
  holder: SurfaceHolder,
): Promise<Change[]> {
  const open = (await surfaceManagement.list(holder)).map(({ surface }) => surface as string)
  const change = (verb: 'open' | 'close', surface: string): Change => ({
    text: `${name}: ${verb} ${surface}`,
    make: () => done(surfaceManagement[verb](operator, surface, holder)),
  })
  return [
    ...wanted.filter((surface) => !open.includes(surface)).map((surface) => change('open', surface)),
    ...open.filter((surface) => !wanted.includes(surface)).map((surface) => change('close', surface)),
  ]
}
