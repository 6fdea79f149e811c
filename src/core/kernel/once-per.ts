/** Caches a function of an immutable object, such as a snapshot: computed once, and released with the object. */
export function oncePer<Key extends object, Value>(compute: (key: Key) => Value): (key: Key) => Value {
  const known = new WeakMap<Key, { value: Value }>()
  return (key) => {
    let found = known.get(key)
    if (!found) {
      found = { value: compute(key) }
      known.set(key, found)
    }
    return found.value
  }
}
