/**
 * Imports point one way, down this list: a folder of src imports from those above it that are named beside it.
 * Type-only imports count. `npm run check` holds the code to it.
 */
const ALLOWED = {
  core: [],
  platform: ['core'],
  providers: ['core', 'platform'],
  accounts: ['core', 'platform', 'billing'],
  webhooks: ['core', 'platform'],
  guardrails: ['core', 'platform', 'webhooks'],
  billing: ['core', 'platform'],
  payments: ['core', 'platform', 'billing', 'webhooks'],
  byok: ['core', 'platform', 'providers'],
  catalog: ['core', 'platform', 'providers'],
  'offer-health': ['core', 'platform', 'catalog'],
  operators: [
    'core',
    'platform',
    'providers',
    'accounts',
    'webhooks',
    'billing',
    'payments',
    'catalog',
    'offer-health',
  ],
  calls: [
    'core',
    'platform',
    'providers',
    'accounts',
    'byok',
    'webhooks',
    'billing',
    'catalog',
    'offer-health',
  ],
  http: [
    'core',
    'platform',
    'providers',
    'accounts',
    'byok',
    'operators',
    'webhooks',
    'guardrails',
    'billing',
    'payments',
    'catalog',
    'offer-health',
    'calls',
  ],
}
const STORES = '^src/(accounts|byok|operators|webhooks|billing|payments|catalog|offer-health)/'

const layers = Object.entries(ALLOWED).map(([folder, others]) => ({
  name: `${folder}-imports-only-what-it-may`,
  comment: `src/${folder} may import ${others.join(', ') || 'nothing'} of src, and no workers`,
  severity: 'error',
  from: { path: `^src/${folder}/` },
  to: {
    path: '^(src|workers|web|tools|test)/',
    pathNot: [
      ...(folder === 'core' ? [] : ['^src/config\\.ts$']),
      ...[folder, ...others].map((other) => `^src/${other}/`),
    ],
  },
}))

/** What a call passes: whoever works on it need not know what is sold beside it. */
const CALL_PLANE =
  '^src/(calls/(api|worker|protocol)/|http/calls/|providers/(?!listings/)|offer-health/|byok/|billing/(holds|settlement)/|core/(calls|failover|routing|text-tokens|media)/)'
/**
 * Accounts but for the key cache, money that is paid in, operators, webhooks, presets, what is stored of calls, how `auto`
 * chooses, where the catalog comes from, documentation.
 */
const PRODUCT = [
  '^src/accounts/(?!key-cache\\.ts)',
  '^src/(payments|operators|webhooks)/',
  '^src/calls/(stored-responses|prompt-logs)/',
  '^src/core/(payments|webhooks|presets|alarms)/',
  '^src/core/auto/(?!routing-profiles\\.ts)',
  '^src/core/catalog/catalog-document\\.ts',
  '^src/catalog/',
  '^src/core/api/(?!(request-fields|schema-validator)\\.ts)',
  '^src/http/(?!calls/)',
]

module.exports = {
  forbidden: [
    ...layers,
    {
      name: 'call-plane-knows-no-product',
      comment: 'whoever works on the way of a call need not know what is sold beside it',
      severity: 'error',
      from: { path: CALL_PLANE },
      to: { path: PRODUCT },
    },
    {
      name: 'console-knows-types-only',
      comment:
        'what runs in a browser takes from the server the shapes of its JSON, the settings of agents and how amounts are written, and no code beside',
      severity: 'error',
      from: { path: '^web/' },
      to: {
        path: '^(src|workers|tools|test)/',
        pathNot: '^src/core/(api/agent-settings|kernel/money)[.]ts$',
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'server-knows-no-console',
      severity: 'error',
      from: { path: '^(src|workers)/' },
      to: { path: '^web/' },
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
      comment: 'workers serve queues; what answers HTTP is none of their business',
      severity: 'error',
      from: { path: '^workers/' },
      to: { path: '^src/(http|cli)/' },
    },
    {
      name: 'compose-serves-entries-only',
      comment: 'parts are composed for a process or a command; everything else is given what it needs',
      severity: 'error',
      from: { path: '^(src|workers|web)/', pathNot: '^(src/(compose|cli)/|src/main\\.ts$|workers/)' },
      to: { path: '^src/compose/' },
    },
    {
      name: 'src-knows-no-workers',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/cli/' },
      to: { path: '^workers/' },
    },
    {
      name: 'nothing-imports-dev-or-test',
      comment: 'development aids and tests use the service, never the other way round',
      severity: 'error',
      from: { path: '^(src|workers|web)/' },
      to: { path: '^(tools|test)/' },
    },
    {
      name: 'undici-only-in-provider-clients',
      severity: 'error',
      from: { path: '^(src|workers)/', pathNot: '^src/providers/provider-clients\\.ts$' },
      to: { path: 'node_modules/undici/' },
    },
    {
      name: 'bullmq-only-in-queues-and-workers',
      severity: 'error',
      from: {
        path: '^(src|workers)/',
        pathNot: '^(src/platform/queues/(?:queues|claimed-jobs)\\.ts|workers/[\\w-]+-worker\\.ts)$',
      },
      to: { path: 'node_modules/bullmq/' },
    },
    {
      name: 'nodemailer-only-in-mailer',
      severity: 'error',
      from: { path: '^(src|workers)/', pathNot: '^src/platform/network/mailer\\.ts$' },
      to: { path: 'node_modules/nodemailer/' },
    },
    {
      name: 'payment-libraries-only-in-their-rails',
      comment: 'each rail speaks to its company alone; everything else knows facts',
      severity: 'error',
      from: { path: '^(src|workers)/', pathNot: '^src/payments/(stripe|paypal)-[\\w-]+\\.ts$' },
      to: { path: 'node_modules/(stripe|@paypal)/' },
    },
    {
      name: 's3-client-only-in-its-storage',
      severity: 'error',
      from: { path: '^(src|workers)/', pathNot: '^src/platform/body-store/s3-storage\\.ts$' },
      to: { path: 'node_modules/@aws-sdk/' },
    },
    {
      name: 'prisma-client-only-in-stores',
      severity: 'error',
      from: { path: '^(src|workers)/', pathNot: `^src/platform/(postgres/|prisma-client/)|${STORES}` },
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
      name: 'no-circles',
      comment:
        'two files that need each other are one idea in two files; types count. What both need is a file of its own',
      severity: 'error',
      from: { path: '^(src|workers)/', pathNot: '^src/platform/prisma-client/' },
      to: { circular: true },
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
    exclude: { path: '^(web/dist|src/catalog/data)/' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'types', 'default'],
    },
  },
}
