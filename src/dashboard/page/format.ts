/** Numbers and times as people read them. Pure. */

/** Four significant digits; `-` for what is not there. */
export function number(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return '-'
  const size = Math.abs(value)
  if (size !== 0 && (size < 1e-4 || size >= 1e7)) return value.toExponential(2).replace(/\.?0*e\+?/, 'e')
  if (Number.isInteger(value)) return String(value)
  return size >= 1000 ? String(Math.round(value)) : String(Number(value.toPrecision(4)))
}

export const count = (value: number): string => value.toLocaleString('en')

/** `1 pair`, `2 pairs`. */
export const counted = (value: number, what: string): string => `${count(value)} ${what}${value === 1 ? '' : 's'}`

export const percent = (share: number): string => `${(100 * share).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`

export function seconds(value: number): string {
  if (value < 1) return `${Math.round(1000 * value)} ms`
  if (value < 120) return `${number(Number(value.toPrecision(3)))} s`
  return value < 7200 ? `${Math.round(value / 60)} min` : `${number(Number((value / 3600).toPrecision(3)))} h`
}

export function bytes(value: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  let unit = 0
  for (; value >= 1000 && unit < units.length - 1; unit++) value /= 1000
  return `${Number(value.toPrecision(3))} ${units[unit]}`
}

/** How long ago, roughly. */
export function ago(time: number, now: number): string {
  const passed = Math.max(0, (now - time) / 1000)
  if (passed < 5) return 'now'
  if (passed < 60) return `${Math.round(passed)} s ago`
  if (passed < 3600) return `${Math.round(passed / 60)} min ago`
  return passed < 172_800 ? `${Math.round(passed / 3600)} h ago` : `${Math.round(passed / 86_400)} days ago`
}

export const clock = (time: number | string): string => new Date(time).toISOString().slice(0, 19).replace('T', ' ')

/** The first line or so. */
export function brief(text: string, most: number): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > most ? `${line.slice(0, most - 1)}…` : line
}

/** Values that are paths, without the directories that all of them have. */
export function withoutCommonPath(values: readonly string[]): readonly string[] {
  const paths = values.filter(value => value.startsWith('/'))
  const [first] = paths
  if (first === undefined || paths.length < 2) return values
  let common = first.slice(0, first.lastIndexOf('/') + 1)
  while (!paths.every(path => path.startsWith(common)))
    common = common.slice(0, common.lastIndexOf('/', common.length - 2) + 1)
  return common.length < 2
    ? values
    : values.map(value => (value.startsWith(common) ? `…/${value.slice(common.length)}` : value))
}
