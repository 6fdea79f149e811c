import { path, reach } from '../../api/request.ts'

/** Calls a surface with one of the account's keys. The request log names the playground as where the call is from. */
export const askPlayground = (
  surface: string,
  keyId: string,
  { headers, ...init }: RequestInit,
): Promise<Response> =>
  reach(path`/console/api/playground/${surface}?key_id=${keyId}`, {
    method: 'POST',
    ...init,
    headers: { ...headers, 'x-title': 'Playground' },
  })
