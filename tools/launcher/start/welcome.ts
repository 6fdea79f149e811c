import type { DemoKeys } from './demo-account.ts'

export interface WelcomeFacts {
  baseUrl: string
  keys: DemoKeys
  metricsUrls: string[]
  logsFolder: string
  providers: string
  mail: string
}

/** What `npm start` ends with: everything needed for a first call. */
export function welcome({ baseUrl, keys, metricsUrls, logsFolder, providers, mail }: WelcomeFacts): string {
  const call = (flags: string, body: object) =>
    [
      `curl ${flags}${baseUrl}/v1/chat/completions \\`,
      `  -H 'Authorization: Bearer ${keys.apiKey}' -H 'Content-Type: application/json' \\`,
      `  -d '${JSON.stringify(body)}'`,
    ].join('\n')
  const messages = [{ role: 'user', content: 'Hello!' }]
  return `
Shuntyard is running.

  console        ${baseUrl}   (sign up there, with free credit)
  base address   ${baseUrl}/v1
  API key        ${keys.apiKey}
  admin key      ${keys.adminKey ?? `in ${keys.file}; npm run admin -- admin-key create makes another`}
  queues         ${baseUrl}/admin/queues   (asks for the admin key)
  metrics        ${metricsUrls.join('\n                 ')}
  providers      ${providers}
  mail           ${mail}
  logs           ${logsFolder}

One answer:

${call('-sS ', { model: 'auto', messages })}

The same, streamed:

${call('-sSN ', { model: 'auto', stream: true, messages })}

Ctrl-C stops everything; the data is kept.
`
}
