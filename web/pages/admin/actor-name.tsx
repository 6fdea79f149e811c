import { useQuery } from '@tanstack/react-query'
import { operatorsQuery } from '../../api/operator-queries.ts'
import { Breakable, Code } from '../../components/text/code.tsx'
import { actorText } from '../../lib/action-words.ts'

/** The person behind an actor of the audit log: the id of an admin key or of an operator, or a user of the command line. */
export function ActorName({ actor }: { actor: string }) {
  const { data } = useQuery({ ...operatorsQuery, refetchInterval: false })
  const operator = data?.data.find(({ id, keys }) => id === actor || keys.some((key) => key.id === actor))
  const { who, by } = actorText({ actor, actor_name: operator?.name ?? null, actor_key: null })
  if (operator) return <Breakable text={who} />
  return by === '' ? (
    <Code className="text-sm">{who}</Code>
  ) : (
    <>
      <Breakable text={who} /> ({by})
    </>
  )
}
