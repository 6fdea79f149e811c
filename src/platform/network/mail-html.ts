/**
 * The HTML part of a message, made of its plain text: paragraphs, addresses of the gateway as links, and one that stands
 * alone in its paragraph as a button, with the address below it for clients that show none. The result is ASCII. Other
 * addresses may be in names that somebody chose, and stay text.
 * @param site the public URL of the gateway
 */
export function mailHtml(subject: string, text: string, site: string): string {
  const isOurs = (address: string) => URL.parse(address)?.origin === URL.parse(site)?.origin
  const paragraphs = text.trim().split(/\n{2,}/)
  return [
    '<!doctype html>',
    `<html lang="en"><head><meta charset="utf-8"><title>${escaped(subject)}</title></head>`,
    `<body style="${BODY}">`,
    `<h1 style="font-size:20px;line-height:1.3">${escaped(subject)}</h1>`,
    ...paragraphs.map((paragraph) =>
      ADDRESS_ALONE.test(paragraph) && isOurs(paragraph) ? button(paragraph) : lines(paragraph, isOurs),
    ),
    '</body></html>',
    '',
  ].join('\n')
}

const BODY =
  'max-width:560px;margin:0 auto;padding:24px;font:15px/1.5 system-ui,sans-serif;color:#1a1c20;background:#fff'
const BUTTON =
  'display:inline-block;padding:10px 20px;border-radius:8px;background:#1b1d22;color:#fff;text-decoration:none'
const ADDRESS_ALONE = /^https?:\/\/\S+$/
const ADDRESS = /https?:\/\/[^\s<>"]*[^\s<>".,;:!?)]/g
/** What ends with a colon and spaces names a value in the plain text; columns mean nothing in HTML. */
const NAMED_VALUE = /^\S[^:]{0,40}: {2,}/

const button = (address: string): string =>
  `<p><a style="${BUTTON}" href="${escaped(address)}">Open the link</a></p>\n` +
  `<p style="font-size:13px;word-break:break-all">${link(address)}</p>`

/** Lines with named values keep their ends; others flow. */
function lines(paragraph: string, isOurs: (address: string) => boolean): string {
  const all = paragraph.split('\n')
  const end = all.some((line) => NAMED_VALUE.test(line)) ? '<br>\n' : '\n'
  return `<p>${all.map((line) => linked(line, isOurs)).join(end)}</p>`
}

function linked(line: string, isOurs: (address: string) => boolean): string {
  let shown = ''
  let after = 0
  for (const { 0: address, index } of line.matchAll(ADDRESS)) {
    shown += escaped(line.slice(after, index)) + (isOurs(address) ? link(address) : escaped(address))
    after = index + address.length
  }
  return shown + escaped(line.slice(after))
}

const link = (address: string): string => `<a href="${escaped(address)}">${escaped(address)}</a>`

const escaped = (text: string): string =>
  text.replace(/[&<>"']|[^\n\x20-\x7e]/gu, (character) => `&#${character.codePointAt(0)};`)
