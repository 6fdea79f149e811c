import { useLocation } from '@tanstack/react-router'
import { useEffect } from 'react'
import runbook from '../../../../docs/runbook.md?raw'
import { Markdown } from '../../playground/markdown.tsx'

const [introduction = '', ...sections] = runbook.split(/^## /m)

/** One entry a kind of alarm, named by it. Headings within an entry come next below its title, an `h2`. */
const ENTRIES = new Map(
  sections.map((section) => {
    const end = section.indexOf('\n')
    return [section.slice(0, end).trim(), section.slice(end).replaceAll(/^### /gm, '# ')]
  }),
)

/** What to do about one kind of alarm, below its title. */
export const RunbookEntry = ({ kind }: { kind: string }) => <Markdown text={ENTRIES.get(kind) ?? ''} />

/** What to do about each kind of alarm; the fragment of the address names a kind. */
export function Runbook() {
  const hash = useLocation({ select: (location) => location.hash })
  useEffect(() => {
    document.getElementById(hash)?.scrollIntoView()
  }, [hash])
  return (
    <>
      <Markdown text={introduction.replace(/^# .*\n/, '')} />
      {[...ENTRIES.keys()].map((kind) => (
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
            <RunbookEntry kind={kind} />
          </div>
        </section>
      ))}
    </>
  )
}
