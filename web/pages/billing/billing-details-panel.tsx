import type { BillingDetailsBody, BillingDetailsView } from '../../../src/core/api/invoices.ts'
import { requestJson } from '../../api/request.ts'
import { TextField } from '../../components/form/fields.tsx'
import { Form, Submit, useForm } from '../../components/form/form.tsx'
import { Panel } from '../../components/layout/page.tsx'

/** Whom invoices are made out to. */
export function BillingDetailsPanel({ details }: { details: BillingDetailsView }) {
  return (
    <Panel title="Billing details" padded>
      <DetailsForm details={details} />
    </Panel>
  )
}

function DetailsForm({ details }: { details: BillingDetailsView }) {
  const { invoices: _, ...initial } = details
  const form = useForm({
    initial,
    send: (values) => {
      const body: BillingDetailsBody = { ...values, country: values.country.trim().toUpperCase() }
      return requestJson<BillingDetailsView>('PATCH', '/console/api/billing-details', body)
    },
    check: ({ country }) => ({
      country: /^([A-Za-z]{2})?$/.test(country.trim()) ? null : 'Enter a code of two letters, such as DE.',
    }),
    stale: ['/console/api/billing-details'],
    done: 'Billing details saved.',
  })
  return (
    <Form form={form}>
      <p className="text-muted">
        Printed on invoices from now on. Invoices that were issued stay as they are.
      </p>
      <TextField label="Name or company" autoComplete="organization" {...form.field('name')} />
      <TextField label="Address" rows={3} {...form.field('address')} />
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField label="Country code" autoComplete="country" placeholder="DE" {...form.field('country')} />
        <TextField label="Tax ID" placeholder="DE123456789" {...form.field('tax_id')} />
      </div>
      <div>
        <Submit form={form} kind="primary" pending="Saving …">
          Save
        </Submit>
      </div>
    </Form>
  )
}
