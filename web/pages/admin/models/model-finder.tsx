import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useId, useState } from 'react'
import { pricingQuery } from '../../../api/queries.ts'
import { Form } from '../../../components/form.tsx'

/** Leads to one model, also to one without calls. */
export function ModelFinder() {
  const id = useId()
  const { data: feed } = useQuery(pricingQuery)
  const navigate = useNavigate()
  const [model, setModel] = useState('')
  const open = () => {
    if (model.trim() !== '') void navigate({ to: '/admin/models/$', params: { _splat: model.trim() } })
  }
  return (
    <Form className="toolbar" error={null} onSubmit={open}>
      <div className="field field-wide">
        <label className="field-label" htmlFor={id}>
          Open a model: its offers, its rates, and what to change
        </label>
        <input
          id={id}
          className="input"
          list={`${id}-models`}
          value={model}
          placeholder="vendor/model"
          autoComplete="off"
          onChange={(event) => setModel(event.target.value)}
        />
        <datalist id={`${id}-models`}>
          {feed?.data.map((entry) => (
            <option key={entry.id} value={entry.id} />
          ))}
        </datalist>
      </div>
      <button type="submit" className="button button-primary">
        Open
      </button>
    </Form>
  )
}
