import { Link } from '@tanstack/react-router'

/** An account by its id. */
export const AccountLink = ({ id }: { id: string }) => (
  <Link to="/admin/accounts/$id" params={{ id }}>
    {id}
  </Link>
)
