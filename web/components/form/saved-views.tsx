import { Bookmark, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { keepView, savedViews, VIEW_NAME_MAX } from '../../lib/saved-views.ts'
import { FormDialog } from '../feedback/dialogs.tsx'
import { Button } from './button.tsx'
import { SelectField } from './fields.tsx'

/** Named views of a page, kept in this browser: chosen, added and removed. `query`: of the page as it is. */
export function SavedViews(props: {
  page: string
  owner: string
  query: string
  onOpen: (query: string) => void
}) {
  const { page, owner, query, onOpen } = props
  const [views, setViews] = useState(() => savedViews(page, owner))
  const shown = views.find((view) => view.query === query)
  return (
    <>
      {views.length > 0 && (
        <SelectField
          label="View"
          value={shown?.name ?? ''}
          options={[{ value: '', name: 'Saved views' }, ...views.map(({ name }) => ({ value: name, name }))]}
          onChange={(name) => onOpen(views.find((view) => view.name === name)?.query ?? '')}
        />
      )}
      {shown ? (
        <Button
          icon={Trash2}
          size="small"
          about={`Delete the view ${shown.name}`}
          onClick={() => setViews(keepView(page, owner, shown.name, null))}
        />
      ) : (
        query !== '' && (
          <Button
            icon={Bookmark}
            size="small"
            dialog={(close) => (
              <FormDialog
                title="Save view"
                submit="Save"
                fields={{
                  name: {
                    label: 'Name',
                    required: 'Name the view.',
                    maxLength: VIEW_NAME_MAX,
                    hint: 'Kept in this browser, with the period, filters and order. The address of this page also opens the view.',
                  },
                }}
                send={async ({ name }) => setViews(keepView(page, owner, name, query))}
                onClose={close}
              />
            )}
          >
            Save view
          </Button>
        )
      )}
    </>
  )
}
