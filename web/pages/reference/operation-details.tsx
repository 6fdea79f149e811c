import { TabbedCode } from '../../components/text/snippets.tsx'
import type { Operation, SchemaField } from '../../lib/openapi-view.ts'

/** What an operation takes and answers, and programs that call it. */
export function OperationDetails({ operation }: { operation: Operation }) {
  const { summary, description, samples, parameters, bodies, responses } = operation
  return (
    <div className="stack gap-4 pt-3">
      {description && description !== summary && <p>{description}</p>}
      {samples.length > 0 && (
        <TabbedCode
          label={`Language of the example of ${operation.id}`}
          about={`example of ${operation.id}`}
          codes={samples.map(({ label, source }) => ({ id: label, name: label, code: source }))}
        />
      )}
      {parameters.length > 0 && (
        <section className="stack gap-2">
          <h3>Parameters</h3>
          <Fields fields={parameters} />
        </section>
      )}
      {bodies.map(({ mediaType, type, fields }) => (
        <section key={mediaType} className="stack gap-2">
          <h3>
            Request body <code className="text-muted">{mediaType}</code>
          </h3>
          {fields.length > 0 ? <Fields fields={fields} /> : <p>{type}</p>}
        </section>
      ))}
      {responses.map(({ status, description: words, mediaType, fields }) => (
        <section key={`${status} ${mediaType}`} className="stack gap-2">
          <h3>
            {status === 'default' ? 'Every other status' : status}{' '}
            {mediaType && <code className="text-muted">{mediaType}</code>}
          </h3>
          {words && <p className="wrap-anywhere">{words}</p>}
          {fields.length > 0 && <Fields fields={fields} />}
        </section>
      ))}
    </div>
  )
}

/** The fields of a schema; those inside one are a list of their own. */
const Fields = ({ fields }: { fields: SchemaField[] }) => (
  <ul className="stack min-w-0 gap-2 border-l border-line pl-2 sm:pl-4">
    {fields.map(({ name, type, required, notes, fields: inner }) => (
      <li key={name} className="stack min-w-0 gap-1">
        <p className="wrap-anywhere">
          <code>{name}</code> <span className="text-muted">{type}</span>
          {required && <span className="text-warn"> required</span>}
          {notes.length > 0 && <span className="text-sm text-muted"> · {notes.join(' · ')}</span>}
        </p>
        {inner.length > 0 && <Fields fields={inner} />}
      </li>
    ))}
  </ul>
)
