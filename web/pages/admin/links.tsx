import { Link } from '@tanstack/react-router'

/** Links to the operators' page of one thing, named by its id. */
export const AccountLink = ({ id }: { id: string }) => (
  <Link to="/admin/accounts/$id" params={{ id }}>
    {id}
  </Link>
)

export const ModelLink = ({ id }: { id: string }) => (
  <Link to="/admin/models/$" params={{ _splat: id }}>
    {id}
  </Link>
)

export const ProviderLink = ({ id }: { id: string }) => (
  <Link to="/admin/providers/$id" params={{ id }}>
    {id}
  </Link>
)
