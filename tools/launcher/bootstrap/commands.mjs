/**
 * The commands of the launcher, by name: `npm run NAME` in a clone, `shuntyard NAME` of an installed package.
 * @typedef {object} Command
 * @property {string} entry what runs on the project's Node
 * @property {string} [packaged] what runs instead in an installed package
 * @property {string[]} [args] come before those of the command line
 * @property {true | string[]} [services] it works on the services of a running `start`: always, or with these first arguments
 * @property {string} [without] it needs no services where this variable is set
 * @property {string} [about] one line for `shuntyard help`; a command without one is for clones only
 */

/** @type {Record<string, Command>} */
export const COMMANDS = {
  start: {
    entry: 'tools/launcher/start.ts',
    about: 'run the gateway with PostgreSQL and Redis until Ctrl-C',
  },
  stop: { entry: 'tools/launcher/stop.ts', about: 'stop a running start and wait for its end' },
  status: { entry: 'tools/launcher/status.ts', about: 'say whether it runs, where, and over which data' },
  admin: {
    entry: 'src/cli/admin.ts',
    services: true,
    about: 'accounts, keys, top-ups and other operator commands',
  },
  apply: {
    entry: 'src/cli/gateway-file.ts',
    args: ['apply'],
    services: true,
    about: 'make the gateway what a file says: catalog, surfaces, alarms, accounts and keys',
  },
  export: {
    entry: 'src/cli/gateway-file.ts',
    args: ['export'],
    services: true,
    about: 'print such a file of what is there',
  },
  import: {
    entry: 'src/cli/import.ts',
    services: true,
    about: 'take over models, accounts and keys of LiteLLM, new-api, OpenRouter or Portkey',
  },
  audit: { entry: 'src/cli/audit.ts', services: true, about: 'prove the ledger against the recorded calls' },
  launch: {
    entry: 'src/cli/launch.ts',
    services: true,
    without: 'SHUNTYARD_API_KEY',
    about: 'start an agent (claude, codex, opencode, qwen, aider) with the gateway and a key of its own',
  },
  trace: { entry: 'src/cli/trace.ts', services: true, about: 'show the attempts and the charge of one call' },
  catalog: { entry: 'src/cli/catalog.ts', services: true, about: 'check and show the catalog of models' },
  router: {
    entry: 'src/cli/router.ts',
    services: ['report', 'learn', 'versions', 'compare', 'install', 'rollback'],
    about: 'score, calibrate and explain what auto chooses',
  },
  doctor: {
    entry: 'src/cli/doctor.ts',
    services: true,
    about: 'say what is wrong with the host, the services and the keys, and what mends it',
  },
  migrate: { entry: 'src/cli/migrate.ts', services: true, about: 'apply the migrations of the database' },
  gate: {
    entry: 'test/gate/gate.ts',
    packaged: 'test/gate/packaged-gate.ts',
    about: 'check every surface with its client libraries, on throwaway data',
  },
  test: { entry: 'tools/launcher/test.ts' },
  check: { entry: 'tools/launcher/check.ts' },
  bench: { entry: 'test/bench/bench.ts' },
  mutation: {
    entry: 'node_modules/@stryker-mutator/core/bin/stryker.js',
    args: ['run', 'test/mutation/stryker.config.json'],
  },
  'package:build': { entry: 'tools/package/build.ts' },
  'release-check': { entry: 'tools/package/release-check.ts' },
  'docs:build': { entry: 'tools/docs-site/build.ts' },
  'console:build': { entry: 'tools/launcher/build-console.ts' },
  'console:dev': { entry: 'tools/launcher/serve-console.ts' },
  'console:screenshots': {
    entry: 'tools/launcher/test.ts',
    args: ['--config', 'test/browser/screenshots.config.ts', 'take-screenshots'],
  },
  'console:speed': {
    entry: 'tools/launcher/test.ts',
    args: ['--config', 'test/browser/screenshots.config.ts', 'measure-speed'],
  },
  'router:eval': { entry: 'tools/router-training/eval.ts' },
  'router:quality': { entry: 'tools/router-training/write-quality.ts' },
  'router:train': { entry: 'tools/router-training/train.ts' },
}
