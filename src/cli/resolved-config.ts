/** Resolved configs, for people. */
import { stringify } from 'yaml'
import { isDefinition } from '../maths/index.js'
import type { RawConfig } from '../train/index.js'

/** All resolved options, as YAML that is a valid config. */
export function resolvedConfig(config: RawConfig, origins: Readonly<Record<string, string>>): string {
  const lines = linesOf(config, origins, '', '')
  const column = Math.min(60, Math.max(...lines.map(({ text }) => text.length)))
  return lines
    .map(({ text, origin }) => (origin === undefined ? text : `${text.padEnd(column)}  # ${origin}`))
    .join('\n')
}

interface Line {
  readonly text: string
  readonly origin?: string
}

function linesOf(config: RawConfig, origins: Readonly<Record<string, string>>, indent: string, prefix: string): Line[] {
  return Object.entries(config).flatMap(([key, given]): Line[] => {
    if (given === undefined) return []
    // By its file, where it has one.
    const value = isDefinition(given) ? given.toJSON() : given
    const path = `${prefix}${key}`
    if (typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0)
      return [{ text: `${indent}${key}:` }, ...linesOf(value as RawConfig, origins, `${indent}  `, `${path}.`)]
    const text = `${indent}${key}: ${written(value)}`
    return [{ text, origin: origins[path] ?? 'default' }]
  })
}

/** On one line. */
function written(value: unknown): string {
  return typeof value === 'object'
    ? JSON.stringify(value)
    : stringify(value, { lineWidth: 0, blockQuote: false }).trim()
}
