/** The fields of the interfaces in a declaration file, by their qualified names. */
export function fieldsByType(source: string): Map<string, string[]> {
  const types = new Map<string, string[]>()
  const open: string[] = []
  for (const line of source.replace(/\/\*[\s\S]*?\*\//g, '').split('\n')) {
    const [, kind, name] = /^\s*(?:export )?(?:declare )?(interface|namespace) (\w+)[^{]*\{$/.exec(line) ?? []
    const isField = /^\s*(\w+)\??: /.exec(line)
    const type = open.join('.')
    if (isField && types.has(type) && !open.includes('')) types.get(type)!.push(isField[1]!)
    if (kind && name) {
      open.push(name)
      if (kind === 'interface') types.set(open.join('.'), [])
    } else if (/\{$/.test(line)) open.push('')
    if (/^\s*\}/.test(line)) open.pop()
  }
  return types
}
