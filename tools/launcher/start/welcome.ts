import type { DemoKeys } from './demo-account.ts'

export interface WelcomeFacts {
  baseUrl: string
  keys: DemoKeys
  metricsUrl: string
  logsFolder: string
  providers: string
}

/** What `npm start` ends with: everything needed for a first call. */
export function welcome({ baseUrl, keys, metricsUrl, logsFolder, providers }: WelcomeFacts): string {
  const call = (flags: string, body: object) =>
    [
      `curl ${flags}${baseUrl}/v1/chat/completions \\`,
      `  -H 'Authorization: Bearer ${keys.apiKey}' -H 'Content-Type: application/json' \\`,
      `  -d '${JSON.stringify(body)}'`,
    ].join('\n')
  const messages = [{ role: 'user', content: 'Hello!' }]
  return `
Switchyard is running.

  console        ${baseUrl}   (sign up there, with free credit)
  base address   ${baseUrl}/v1
  API key        ${keys.apiKey}
  admin key      ${keys.adminKey}
  queues         ${baseUrl}/admin/queues   (asks for the admin key)
  metrics        ${metricsUrl}
  providers      ${providers}
  logs           ${logsFolder}

One answer:

${call('-sS ', { model: 'auto', messages })}

The same, streamed:

${call('-sSN ', { model: 'auto', stream: true, messages })}

Ctrl-C stops everything; the data is kept.
`
}
