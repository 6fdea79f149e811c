import { type Static, type TSchema, type TUnsafe, Type } from 'typebox'

/** The schema of a value that may also be null, of the same wording. */
export function nullable<S extends TSchema & { type?: string; enum?: unknown[] }>(
  schema: S,
): TUnsafe<Static<S> | null> {
  const { type, enum: words } = schema
  return Type.Unsafe<Static<S> | null>({
    ...schema,
    ...(type && { type: [type, 'null'] }),
    ...(words && { enum: [...words, null] }),
  })
}
