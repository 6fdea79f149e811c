/** Reads an address with an API key. */
export const getAs = (key: string, url: string): Promise<Response> =>
  fetch(url, { headers: { authorization: `Bearer ${key}` } })

/** Posts JSON to an address with an API key. */
export const postAs = (key: string, url: string, body: unknown): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
