import { Link } from '@tanstack/react-router'
import { Breakable } from '../../components/text/code.tsx'

/** Links to the operators' page of one thing, by its name where that is known, else by its id. `isLine`: it never breaks. */
export const AccountLink = (props: { id: string; name?: string | null; isLine?: boolean }) => {
  const { id, name, isLine } = props
  const text = name ?? id
  return (
    <Link to="/admin/accounts/$id" params={{ id }} title={id}>
      {isLine ? text : <Breakable text={text} />}
    </Link>
  )
}

export const ModelLink = ({ id }: { id: string }) => (
  <Link to="/admin/models/$" params={{ _splat: id }}>
    <Breakable text={id} />
  </Link>
)

export const ProviderLink = ({ id }: { id: string }) => (
  <Link to="/admin/providers/$id" params={{ id }}>
    <Breakable text={id} />
  </Link>
)
