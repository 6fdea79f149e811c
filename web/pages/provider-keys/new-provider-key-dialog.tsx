import { useState } from 'react'
import type {
  NewProviderKeyBody,
  ProviderKeyList,
  ProviderKeyView,
} from '../../../src/core/api/provider-keys.ts'
import { requestJson } from '../../api/request.ts'
import { CheckField, SelectField } from '../../components/form/choice-fields.tsx'
import { FormDialog, useForm } from '../../components/form/form.tsx'
import { TextField } from '../../components/form/text-field.tsx'

/** The result of trying the key at its provider. */
const STORED: Record<ProviderKeyView['status'], (provider: string) => string> = {
  active: (provider) => `The key is stored, and ${provider} accepts it.`,
  unchecked: (provider) => `The key for ${provider} is stored. It could not be checked.`,
  refused: (provider) => `The key is stored, but ${provider} refuses it.`,
  failing: (provider) => `The key is stored, but ${provider} refuses it.`,
  disabled: (provider) => `The key for ${provider} is stored.`,
}

/** Asks for a key of the client at a provider. */
export function NewProviderKeyDialog(props: {
  providers: ProviderKeyList['providers']
  onClose: () => void
}) {
  const { providers, onClose } = props
  const [allowFallback, setAllowFallback] = useState(false)
  const form = useForm({
    initial: { provider: providers[0]?.id ?? '', key: '', name: '' },
    check: ({ key }) => ({ key: key.trim() === '' ? 'Paste the key as the provider showed it.' : null }),
    send: ({ provider, key, name }) => {
      const body: NewProviderKeyBody = {
        provider,
        key: key.trim(),
        allow_fallback: allowFallback,
        ...(name.trim() !== '' && { name: name.trim() }),
      }
      return requestJson<ProviderKeyView>('POST', '/console/api/provider-keys', { body })
    },
    stale: [['provider-keys']],
    done: (added) => STORED[added.status](added.provider_name),
    onDone: onClose,
  })
  return (
    <FormDialog
      title="Add a provider key"
      form={form}
      submit="Store the key"
      pending="Storing …"
      onClose={onClose}
    >
      <SelectField
        label="Provider"
        {...form.field('provider')}
        options={providers.map(({ id, name }) => ({ value: id, name }))}
      />
      <TextField
        label="Key"
        type="password"
        {...form.field('key')}
        hint="It is encrypted before it is stored, and never shown again."
        required
      />
      <TextField label="Name" {...form.field('name')} hint="Optional, to tell several keys apart." />
      <CheckField
        label="Use shared capacity when this key fails"
        hint="Those calls cost the listed price instead of the routing fee. Otherwise they fail."
        checked={allowFallback}
        onChange={setAllowFallback}
      />
    </FormDialog>
  )
}
