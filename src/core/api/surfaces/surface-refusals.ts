import { ApiError } from '../../kernel/errors.ts'
import { SURFACES, type Surface } from './surface-registry.ts'

const PATH_CHARS_MAX = 120
const SEE_LIST = 'GET /v1/surfaces lists every surface.'

/** The error for a surface that is closed, or not granted to this key. */
export function surfaceClosed({ method, path, access }: Surface): ApiError {
  const reason =
    access === 'granted'
      ? 'is closed to this API key. An operator can open it to a key or an account.'
      : 'is not offered here. Use POST /v1/chat/completions.'
  return new ApiError('surface_unavailable', `${method} ${path} ${reason} ${SEE_LIST}`)
}

const VERSIONS = new Set(SURFACES.flatMap(({ path }) => path.match(/^\/v\d+(?=\/)/) ?? []))
/** The paths that clients append to their base URL, such as `/chat/completions`. */
const APPENDED = new Set(SURFACES.map(({ path }) => path.replace(/^\/v\d+(?=\/)/, '')))

/** The error for an unknown path, with the right base URL if it can be derived. */
export function pathUnknown(method: string, url: string): ApiError {
  const path = url.split('?', 1)[0]!
  const [, doubled, rest = ''] = /^\/v\d+(\/v\d+)(\/.*)$/.exec(path) ?? []
  const hint =
    doubled !== undefined && VERSIONS.has(doubled) && APPENDED.has(rest)
      ? `The path has two versions: end the client's base URL in ${doubled}, once.`
      : APPENDED.has(path)
        ? `Paths of the API begin with a version: end the client's base URL in /v1.`
        : SEE_LIST
  const shown = path.length > PATH_CHARS_MAX ? `${path.slice(0, PATH_CHARS_MAX)}…` : path
  return new ApiError('surface_unavailable', `There is no ${method} ${shown} here. ${hint}`)
}
