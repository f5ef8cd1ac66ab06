/** What `datasets` writes beside a table: which columns are classes with names, and which hold JSON as text. */
import { z } from 'zod'

type Feature = unknown
/** Gives a value of a column its meaning. */
type Reading = (value: unknown) => unknown

const classLabel = z.object({ _type: z.literal('ClassLabel'), names: z.array(z.string()) })
const json = z.object({ _type: z.literal('Json') })
const listed = z.object({ _type: z.enum(['Sequence', 'List', 'LargeList']), feature: z.unknown() })
const information = z.object({ info: z.object({ features: z.record(z.string(), z.unknown()) }) })

/** Readings of columns by name, of those that need one. Metadata that cannot be read is ignored: it is not ours. */
export function featureReadings(metadata: string | undefined): ReadonlyMap<string, Reading> {
  const readings = new Map<string, Reading>()
  if (metadata === undefined) return readings
  let parsed: unknown
  try {
    parsed = JSON.parse(metadata)
  } catch {
    return readings
  }
  const result = information.safeParse(parsed)
  if (!result.success) return readings
  for (const [name, feature] of Object.entries(result.data.info.features)) {
    const reading = readingOf(feature)
    if (reading) readings.set(name, reading)
  }
  return readings
}

function readingOf(feature: Feature): Reading | undefined {
  const label = classLabel.safeParse(feature)
  if (label.success) {
    const { names } = label.data
    // -1 stands for no class.
    return value => (typeof value === 'number' ? (names[value] ?? null) : value)
  }
  if (json.safeParse(feature).success) return readJson
  const list = listed.safeParse(feature)
  if (list.success) return inList(list.data.feature)
  if (Array.isArray(feature)) return inList(feature[0])
  if (typeof feature !== 'object' || feature === null || '_type' in feature) return undefined
  return inObject(feature as Readonly<Record<string, Feature>>)
}

function inList(element: Feature): Reading | undefined {
  const reading = readingOf(element)
  if (!reading) return undefined
  // A sequence of objects is stored as an object of lists.
  return value => (Array.isArray(value) ? value.map(reading) : readObject(value, element))
}

function readObject(value: unknown, element: Feature): unknown {
  if (typeof value !== 'object' || value === null || typeof element !== 'object' || element === null) return value
  const lists = Object.entries(value).map(([name, list]) => {
    const reading = readingOf((element as Record<string, Feature>)[name])
    return [name, reading && Array.isArray(list) ? list.map(reading) : list]
  })
  return Object.fromEntries(lists)
}

function inObject(fields: Readonly<Record<string, Feature>>): Reading | undefined {
  const readings = Object.entries(fields).flatMap(([name, feature]) => {
    const reading = readingOf(feature)
    return reading ? [[name, reading] as const] : []
  })
  if (readings.length === 0) return undefined
  return value => {
    if (typeof value !== 'object' || value === null) return value
    const read = { ...value } as Record<string, unknown>
    for (const [name, reading] of readings) if (name in read) read[name] = reading(read[name])
    return read
  }
}

function readJson(value: unknown): unknown {
  if (typeof value !== 'string') return value
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}

/** A row with its columns read. */
export function withReadings(
  row: Readonly<Record<string, unknown>>,
  readings: ReadonlyMap<string, Reading>,
): Readonly<Record<string, unknown>> {
  if (readings.size === 0) return row
  const read = { ...row }
  for (const [name, reading] of readings) if (name in read) read[name] = reading(read[name])
  return read
}
