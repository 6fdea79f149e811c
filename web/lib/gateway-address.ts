import { BASE_PATH } from './base-path.ts'

/** The address of the gateway as clients use it: what comes before `/v1`. */
export const gatewayAddress = (): string => window.location.origin + BASE_PATH
