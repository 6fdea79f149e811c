/**
 * Imports point one way: core <- platform <- accounts, catalog, billing, relay <- admission <- http <- main.
 * Type-only imports count. `npm run check` and test/architecture/imports.test.ts hold the code to it.
 */
const STORES = '^src/(accounts|catalog|billing)/'

/** What each folder of src may import from src, besides itself. */
const ALLOWED = {
  core: [],
  platform: ['core', 'config.ts'],
  accounts: ['core', 'platform', 'config.ts'],
  catalog: ['core', 'platform', 'config.ts'],
  billing: ['core', 'platform', 'config.ts'],
  relay: ['core', 'platform', 'config.ts'],
  admission: ['core', 'platform', 'accounts', 'catalog', 'billing', 'relay', 'config.ts'],
  http: ['core', 'platform', 'accounts', 'catalog', 'billing', 'relay', 'admission', 'config.ts'],
}

const layers = Object.entries(ALLOWED).map(([folder, others]) => ({
  name: `${folder}-imports-only-what-it-may`,
  comment: `src/${folder} may import ${others.join(', ') || 'nothing'} of src, and no workers`,
  severity: 'error',
  from: { path: `^src/${folder}/` },
  to: { path: '^(src|workers|test)/', pathNot: [folder, ...others].map((other) => `^src/${other}(/|$)`) },
}))

module.exports = {
  forbidden: [
    ...layers,
    {
      name: 'console-knows-types-only',
      comment: 'what runs in a browser takes from the server the shapes of its JSON, and no code',
      severity: 'error',
      from: { path: '^src/console/' },
      to: { path: '^(src/(?!console/)|workers|test)', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'server-knows-no-console',
      severity: 'error',
      from: { path: '^(src|workers)/', pathNot: '^src/console/' },
      to: { path: '^src/console/' },
    },
    {
      name: 'core-is-pure',
      comment: 'core does no I/O, reads no clock and talks to nothing',
      severity: 'error',
      from: { path: '^src/core/' },
      to: { dependencyTypes: ['core'], pathNot: '^(node:)?(crypto|buffer|util|zlib)$' },
    },
    {
      name: 'core-knows-no-clients',
      comment: 'core uses no client library',
      severity: 'error',
      from: { path: '^src/core/' },
      to: { path: 'node_modules/(fastify|bullmq|ioredis|pg|undici|pino|nodemailer|@prisma|prom-client)/' },
    },
    {
      name: 'workers-know-no-http',
      comment: 'workers may use core, platform, relay, accounts, billing and catalog',
      severity: 'error',
      from: { path: '^workers/' },
      to: {
        path: '^src/',
        pathNot: '^src/(core|platform|relay|accounts|billing|catalog)/|^src/config\\.ts$',
      },
    },
    {
      name: 'src-knows-no-workers',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(dev|cli)/' },
      to: { path: '^workers/' },
    },
    {
      name: 'nothing-imports-dev-or-test',
      comment: 'development aids and tests use the service, never the other way round',
      severity: 'error',
      from: { path: '^(src|workers)/', pathNot: '^src/dev/' },
      to: { path: '^(src/dev|test)/' },
    },
    {
      name: 'undici-only-in-transport',
      severity: 'error',
      from: { path: '^(src|workers)/', pathNot: '^(workers/providers/transport\\.ts|src/dev/)' },
      to: { path: 'node_modules/undici/' },
    },
    {
      name: 'bullmq-only-in-queues-and-workers',
      severity: 'error',
      from: {
        path: '^(src|workers)/',
        pathNot: '^(src/platform/queues\\.ts|workers/(?:dispatch-jobs|[\\w-]+-worker)\\.ts)$',
      },
      to: { path: 'node_modules/bullmq/' },
    },
    {
      name: 'nodemailer-only-in-mailer',
      severity: 'error',
      from: { path: '^(src|workers)/', pathNot: '^src/platform/mailer\\.ts$' },
      to: { path: 'node_modules/nodemailer/' },
    },
    {
      name: 'payment-libraries-only-in-their-rails',
      comment: 'each rail speaks to its company alone; everything else knows facts',
      severity: 'error',
      from: { path: '^(src|workers)/', pathNot: '^src/billing/payments/(stripe|paypal)-[\\w-]+\\.ts$' },
      to: { path: 'node_modules/(stripe|@paypal)/' },
    },
    {
      name: 'prisma-client-only-in-stores',
      severity: 'error',
      from: { path: '^(src|workers)/', pathNot: `^src/platform/(postgres\\.ts$|prisma-client/)|${STORES}` },
      to: { path: '^src/platform/prisma-client/|node_modules/@prisma/client/' },
    },
    {
      name: 'no-cycles',
      comment: 'types may refer to each other; code that runs may not need each other to load',
      severity: 'error',
      from: { pathNot: '^src/platform/prisma-client/' },
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'resolvable',
      comment: 'an import that cannot be found is not checked by any rule above',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    // dependency-cruiser does not read TypeScript 7 yet; swc shows it type-only imports just as well.
    parser: 'swc',
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^src/(console/dist|catalog/data)/' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'types', 'default'],
    },
  },
}
