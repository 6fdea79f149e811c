import { type DiffLine, documentDiff } from '../../lib/document-diff.ts'

const MARKS: Record<DiffLine['kind'], string> = { same: '  ', added: '+ ', removed: '- ', gap: '' }
const TONES: Partial<Record<DiffLine['kind'], string>> = { added: 'good', removed: 'bad' }
const WORDS: Partial<Record<DiffLine['kind'], string>> = { added: 'added: ', removed: 'removed: ' }

/** The differences between two documents. */
export function DiffView({ before, after, of }: { before: string; after: string; of: string }) {
  const lines = documentDiff(before, after).map((line, index) => ({ ...line, index }))
  if (lines.length === 0) return <p className="text-muted">No differences.</p>
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so a keyboard must reach it
    <section className="max-h-96 overflow-auto rounded-md border border-line" tabIndex={0} aria-label={of}>
      <pre className="w-max min-w-full text-xs leading-[1.6]">
        {lines.map(({ kind, text, index }) => (
          <span key={index} className="block px-3" data-tone={TONES[kind]}>
            {WORDS[kind] && <span className="sr-only">{WORDS[kind]}</span>}
            <span aria-hidden="true">{MARKS[kind]}</span>
            {text}
          </span>
        ))}
      </pre>
    </section>
  )
}
