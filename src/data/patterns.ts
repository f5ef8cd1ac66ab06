/** Glob patterns. `*` and `?` stay within a name, `**` goes through folders, `{a,b}` is either, `[0-9]` a character. */

export const isPattern = (path: string): boolean => /[*?{[]/.test(path)

/** A pattern over names with `/` between folders. What names a folder stands for all that is in it. */
export function pathPattern(pattern: string): (name: string) => boolean {
  const segments = pattern.split('/').filter(part => part !== '' && part !== '.')
  const matches = segments.map(segment => (segment === '**' ? undefined : segmentPattern(segment)))
  const fits = (parts: readonly string[], at: number, part: number): boolean => {
    if (at === matches.length) return true
    const match = matches[at]
    if (match === undefined) return fits(parts, at + 1, part) || (part < parts.length && fits(parts, at, part + 1))
    return part < parts.length && match.test(parts[part]!) && fits(parts, at + 1, part + 1)
  }
  return name => fits(name.split('/'), 0, 0)
}

/** A name's pattern as a regular expression. */
export function segmentPattern(segment: string): RegExp {
  let depth = 0
  const source = segment.replace(/\[!?[^\]]+\]|[*?{},.+^$()|[\]\\]/g, part => {
    if (part === '*') return '[^/]*'
    if (part === '?') return '[^/]'
    if (part === '{') {
      depth++
      return '(?:'
    }
    if (part === '}' && depth > 0) {
      depth--
      return ')'
    }
    if (part === ',' && depth > 0) return '|'
    if (part.length > 1) return `[${part.slice(1, -1).replace(/^!/, '^').replaceAll('\\', '\\\\')}]`
    return `\\${part}`
  })
  return new RegExp(`^${source}${')'.repeat(depth)}$`)
}
