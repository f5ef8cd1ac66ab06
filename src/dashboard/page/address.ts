/** Where the reader is: everything a view shows stands in the part of the address behind `#`, so that it can be bookmarked. Pure. */

export const runPages = [
  'curves',
  'stages',
  'samples',
  'groups',
  'distributions',
  'alerts',
  'act',
  'chat',
  'config',
] as const
export type RunPage = (typeof runPages)[number]

export interface Address {
  /** The runs that are shown: none on the list of runs, several where they are compared. */
  readonly runs: readonly string[]
  readonly page: 'runs' | RunPage
  readonly query: Readonly<Record<string, string>>
}

/** `#/run/NAME/samples?where=...`, `#/compare/A/B?smooth=0.6`, `#/`. An address that is not known is the list of runs. */
export function readAddress(hash: string): Address {
  const [path = '', query = ''] = hash.replace(/^#/, '').split('?', 2)
  const [kind, ...rest] = path.split('/').slice(1).map(decoded)
  const asked = Object.fromEntries(new URLSearchParams(query))
  if (kind === 'compare' && rest.length > 0) return { runs: rest, page: 'curves', query: asked }
  const [run, page = 'curves'] = rest
  if (kind !== 'run' || run === undefined || !isRunPage(page)) return { runs: [], page: 'runs', query: asked }
  return { runs: [run], page, query: asked }
}

export function writeAddress({ runs, page, query }: Address): string {
  const names = runs.map(encodeURIComponent)
  const path = page === 'runs' ? '/' : names.length > 1 ? `/compare/${names.join('/')}` : `/run/${names[0]}/${page}`
  const asked = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== '')).toString()
  return `#${path}${asked === '' ? '' : `?${asked}`}`
}

const isRunPage = (name: string): name is RunPage => (runPages as readonly string[]).includes(name)

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
