import { TIERS } from '../../src/core/auto/tiers.ts'
import { builtCatalog } from './built-catalog.ts'
import { catalogDocument } from './test-catalog.ts'

/** A catalog with one model of each tier of `auto`, each of another developer. */
export const tieredCatalog = () =>
  builtCatalog([
    catalogDocument(
      Object.fromEntries(
        TIERS.map((tier, at) => [
          `maker${at}/${tier}`,
          { vendor: `maker${at}`, auto_tier: tier, offers: [{ at: 'alpha', model: 'words-12' }] },
        ]),
      ),
      'http://127.0.0.1:1',
    ),
  ])
