import { useLocation } from '@tanstack/react-router'
import { useEffect } from 'react'
import runbook from '../../../docs/runbook.md?raw'
import { PageHead } from '../../components/layout/page.tsx'
import { Markdown } from '../playground/markdown.tsx'

const [introduction = '', ...sections] = runbook.split(/^## /m)

/** One entry a kind of alarm, named by it. Headings within an entry come next below its title, an `h2`. */
const ENTRIES = sections.map((section) => {
  const end = section.indexOf('\n')
  return { kind: section.slice(0, end).trim(), text: section.slice(end).replaceAll(/^### /gm, '# ') }
})

/** What to do about each kind of alarm; the fragment of the address names a kind. */
export function RunbookPage() {
  const hash = useLocation({ select: (location) => location.hash })
  useEffect(() => {
    document.getElementById(hash)?.scrollIntoView()
  }, [hash])
  return (
    <>
      <PageHead title="Runbook" description="What each kind of alarm means, and what to do about it." />
      <Markdown text={introduction.replace(/^# .*\n/, '')} />
      {ENTRIES.map(({ kind, text }) => (
        <section
          key={kind}
          id={kind}
          className={`panel scroll-mt-20 ${kind === hash ? 'outline-2 outline-accent-fill' : ''}`}
          aria-labelledby={`${kind}-title`}
        >
          <div className="panel-body">
            <h2 id={`${kind}-title`}>
              <code>{kind}</code>
            </h2>
            <Markdown text={text} />
          </div>
        </section>
      ))}
    </>
  )
}
