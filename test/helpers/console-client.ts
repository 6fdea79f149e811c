/** A browser's way of asking: keeps cookies, and says where its page is from. */
export interface ConsoleClient {
  /** Asks for a path; a body makes it a POST, unless another method is named. */
  ask(path: string, options?: ConsoleAsk): Promise<Response>
  /** The same, and reads the JSON of an answer that went well; throws of any other. */
  json<T>(path: string, options?: ConsoleAsk): Promise<T>
  cookies: Map<string, string>
}

export interface ConsoleAsk {
  method?: string
  body?: unknown
  headers?: Record<string, string>
  signal?: AbortSignal
}

const FROM_OUR_PAGES = { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors' }

export function consoleClient(url: string): ConsoleClient {
  const cookies = new Map<string, string>()
  const ask: ConsoleClient['ask'] = async (path, { body, headers = {}, signal, method } = {}) => {
    const response = await fetch(url + path, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      redirect: 'manual',
      headers: {
        ...FROM_OUR_PAGES,
        ...(cookies.size > 0 && {
          cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: signal ?? null,
    })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (value === '') cookies.delete(name)
      else cookies.set(name, value)
    }
    return response
  }
  return {
    ask,
    cookies,
    async json<T>(path: string, options?: ConsoleAsk) {
      const response = await ask(path, options)
      const text = await response.text()
      if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`)
      return JSON.parse(text) as T
    },
  }
}

export const PASSWORD = 'points and levers'

let accountsOpened = 0

/** A client that has just opened an account. */
export async function signedUp(url: string): Promise<ConsoleClient & { email: string }> {
  accountsOpened += 1
  const email = `holder-${process.pid}-${accountsOpened}-${Date.now()}@example.test`
  const client = consoleClient(url)
  await client.json('/console/api/sign-up', { body: { email, password: PASSWORD } })
  return { ...client, email }
}
