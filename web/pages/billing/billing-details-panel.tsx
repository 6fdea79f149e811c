import type { BillingDetailsBody, BillingDetailsView } from '../../../src/core/api/invoices.ts'
import { requestJson } from '../../api/request.ts'
import { PageForm } from '../../components/form/form.tsx'
import { Panel } from '../../components/layout/page.tsx'

/** Whom invoices are made out to. */
export const BillingDetailsPanel = ({ details }: { details: BillingDetailsView }) => (
  <Panel title="Billing details" padded>
    <PageForm
      fields={{
        name: { label: 'Name or company', initial: details.name, autoComplete: 'organization' },
        address: { label: 'Address', initial: details.address, rows: 3 },
        country: {
          label: 'Country code',
          initial: details.country,
          autoComplete: 'country',
          placeholder: 'DE',
          check: (code) =>
            /^([A-Za-z]{2})?$/.test(code) ? null : 'Enter a code of two letters, such as DE.',
        },
        tax_id: { label: 'Tax ID', initial: details.tax_id, placeholder: 'DE123456789' },
      }}
      send={(values) =>
        requestJson<BillingDetailsView>('PATCH', '/console/api/billing-details', {
          ...values,
          country: values.country.toUpperCase(),
        } satisfies BillingDetailsBody)
      }
      stale={['/console/api/billing-details']}
      done="Billing details saved."
      kind="primary"
    >
      {({ input }) => (
        <>
          <p className="text-muted">
            Printed on invoices from now on. Invoices that were issued stay as they are.
          </p>
          {input('name')}
          {input('address')}
          <div className="grid gap-4 sm:grid-cols-2">
            {input('country')}
            {input('tax_id')}
          </div>
        </>
      )}
    </PageForm>
  </Panel>
)
