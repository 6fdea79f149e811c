import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type {
  NewProviderKeyBody,
  ProviderKeyList,
  ProviderKeyView,
} from '../../../src/core/api/provider-keys.ts'
import { requestJson } from '../../api/request.ts'
import { CheckField } from '../../components/check-field.tsx'
import { DialogBox } from '../../components/dialog-box.tsx'
import { Form } from '../../components/form.tsx'
import { fieldError } from '../../components/form-error.tsx'
import { SelectField } from '../../components/select-field.tsx'
import { TextField } from '../../components/text-field.tsx'
import { showToast } from '../../components/toasts.tsx'

interface NewProviderKeyProps {
  isOpen: boolean
  providers: ProviderKeyList['providers']
  onClose: () => void
}

/** What came of trying the key. */
const STORED: Record<ProviderKeyView['status'], (provider: string) => string> = {
  active: (provider) => `The key is stored, and ${provider} accepts it.`,
  unchecked: (provider) => `The key for ${provider} is stored. It could not be checked.`,
  refused: (provider) => `The key is stored, but ${provider} refuses it.`,
  failing: (provider) => `The key is stored, but ${provider} refuses it.`,
  disabled: (provider) => `The key for ${provider} is stored.`,
}

/** Asks for a key of the client's own. */
export function NewProviderKeyDialog(props: NewProviderKeyProps) {
  return (
    <DialogBox title="Add a provider key" isOpen={props.isOpen} onClose={props.onClose}>
      <NewProviderKeyForm {...props} />
    </DialogBox>
  )
}

function NewProviderKeyForm({ providers, onClose }: NewProviderKeyProps) {
  const [provider, setProvider] = useState(providers[0]?.id ?? '')
  const [key, setKey] = useState('')
  const [name, setName] = useState('')
  const [allowFallback, setAllowFallback] = useState(false)
  const [isChecked, setIsChecked] = useState(false)
  const client = useQueryClient()
  const add = useMutation({
    mutationFn: (body: NewProviderKeyBody) =>
      requestJson<ProviderKeyView>('POST', '/console/api/provider-keys', { body }),
    // The key is in its variables: nothing of it stays.
    gcTime: 0,
    onSuccess: (added) => {
      void client.invalidateQueries({ queryKey: ['provider-keys'] })
      showToast(STORED[added.status](added.provider_name))
      onClose()
    },
  })
  const problem = key.trim() === '' ? 'Paste the key as the provider showed it.' : null
  const submit = () => {
    setIsChecked(true)
    if (problem) return
    add.mutate({
      provider,
      key: key.trim(),
      allow_fallback: allowFallback,
      ...(name.trim() !== '' && { name: name.trim() }),
    })
  }
  return (
    <Form error={add.error} fields={['key', 'name']} onSubmit={submit}>
      <SelectField
        label="Provider"
        value={provider}
        onChange={setProvider}
        options={providers.map(({ id, name }) => ({ value: id, name }))}
      />
      <TextField
        label="Key"
        type="password"
        value={key}
        onChange={setKey}
        hint="It is sealed before it is stored, and never shown again."
        error={(isChecked && problem) || fieldError(add.error, 'key')}
        required
      />
      <TextField
        label="Name"
        value={name}
        onChange={setName}
        hint="To tell several apart. May be left out."
        error={fieldError(add.error, 'name')}
      />
      <CheckField
        label="Use shared capacity when this key fails"
        hint="Those calls cost the listed price instead of the routing fee. Otherwise they fail."
        checked={allowFallback}
        onChange={setAllowFallback}
      />
      <div className="dialog-foot">
        <button type="button" className="button" onClick={onClose}>
          Cancel
        </button>
        <button type="submit" className="button button-primary" disabled={add.isPending}>
          {add.isPending ? 'Storing …' : 'Store the key'}
        </button>
      </div>
    </Form>
  )
}
