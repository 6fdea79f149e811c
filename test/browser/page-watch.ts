import type { Page, Request, Response } from 'playwright-core'

/** What a page received, and everything it did that no page of ours may do. */
export interface PageWatch {
  /**
   * Requests beyond the origin, violations of the content security policy, errors on the console, exceptions, and
   * answers of 400 and above that were not announced: one line each.
   */
  problems: string[]
  /** Announces answers that the test provokes: `POST /console/api/sign-in 401`. */
  expectRefusal(...refusals: Array<string | RegExp>): void
  /** Where a text was received: `POST /console/api/keys` for each answer, and `event /path` for live events. */
  placesOf(text: string): Promise<string[]>
}

interface Received {
  place: string
  body: string
}

/** What a busy machine does not answer in time, or not beside another; the page asks again, and its content is tested. */
const BUSY = /^GET \/(console|admin)\/api\/\S+ (429|503)$/
/** The browser's own words for an answer of 400 and above, which is judged by its status instead. */
const FAILED_TO_LOAD = /^Failed to load resource: the server responded with a status of \d+/
/** Runs in the page, whose types these tests do not have. */
const REPORT_VIOLATIONS = `document.addEventListener('securitypolicyviolation', (event) =>
  reportPolicyViolation('the policy forbids ' + event.violatedDirective + ' ' + event.blockedURI))`
const GONE = /No data found|No resource with given identifier|has been closed/
/** Named after their content, so that one reading tells all. */
const STATIC_FILES = '/assets/'
const NO_BODY = new Set([204, 301, 302, 303, 304, 307, 308])

/** Watches a page from before its first request. */
export async function watchPage(page: Page, origin: string): Promise<PageWatch> {
  const problems: string[] = []
  const refusals: Array<string | RegExp> = [BUSY]
  const received: Array<Promise<Received>> = []
  const answered: string[] = []
  const filesRead = new Set<string>()

  page.on('request', (request) => {
    const url = new URL(request.url())
    if (url.origin !== origin && !['data:', 'blob:', 'about:'].includes(url.protocol))
      problems.push(`a request to ${url.origin}`)
  })
  page.on('response', (response) => {
    if (response.status() >= 400) answered.push(`${placeOf(response)} ${response.status()}`)
  })
  page.on('requestfinished', (request) => {
    const { pathname } = new URL(request.url())
    if (pathname.startsWith(STATIC_FILES) && filesRead.has(pathname)) return
    filesRead.add(pathname)
    received.push(readAnswer(request))
  })
  page.on('console', (message) => {
    if (message.type() === 'error' && !FAILED_TO_LOAD.test(message.text()))
      problems.push(`on the console: ${message.text()}`)
  })
  page.on('pageerror', (error) => problems.push(`an exception: ${error.message}`))
  await watchPolicy(page, problems)
  await watchEvents(page, received)

  return {
    get problems() {
      const unannounced = answered.filter((line) => !refusals.some((one) => isOf(one, line)))
      return [...problems, ...unannounced]
    },
    expectRefusal: (...lines) => void refusals.push(...lines),
    async placesOf(text) {
      const all = await Promise.all(received)
      return all.filter(({ body }) => body.includes(text)).map(({ place }) => place)
    },
  }
}

const placeOf = (response: Response): string =>
  `${response.request().method()} ${new URL(response.url()).pathname}`

const isOf = (announced: string | RegExp, line: string): boolean =>
  typeof announced === 'string' ? announced === line : announced.test(line)

/** An answer to a page that was left, or closed, is gone with it; any other must be readable. */
async function readAnswer(request: Request): Promise<Received> {
  const place = `${request.method()} ${new URL(request.url()).pathname}`
  try {
    const response = await request.response()
    if (!response) throw new Error(`${place} finished without an answer`)
    const body = NO_BODY.has(response.status()) ? '' : (await response.body()).toString('utf8')
    return { place, body: `${body}\n${JSON.stringify(response.headers())}` }
  } catch (error) {
    if (GONE.test((error as Error).message)) return { place, body: '' }
    throw error
  }
}

async function watchPolicy(page: Page, problems: string[]): Promise<void> {
  await page.exposeFunction('reportPolicyViolation', (line: string) => problems.push(line))
  await page.addInitScript({ content: REPORT_VIOLATIONS })
}

/** A stream of events never finishes, so its messages are read one by one. */
async function watchEvents(page: Page, received: Array<Promise<Received>>): Promise<void> {
  const session = await page.context().newCDPSession(page)
  const paths = new Map<string, string>()
  session.on('Network.requestWillBeSent', ({ requestId, request }) => {
    paths.set(requestId, new URL(request.url).pathname)
  })
  session.on('Network.eventSourceMessageReceived', ({ requestId, data }) => {
    received.push(Promise.resolve({ place: `event ${paths.get(requestId) ?? ''}`, body: data }))
  })
  await session.send('Network.enable')
}
