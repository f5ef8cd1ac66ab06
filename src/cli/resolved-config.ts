/** Configs for people: help of the options, and resolved options. */
import { stringify } from 'yaml'
import type { z } from 'zod'
import { isDefinition } from '../maths/index.js'
import { configOptions, type RawConfig } from '../train/index.js'

/** A line for every option, for the help. */
export function optionHelp(schema: z.ZodObject): string {
  const options = configOptions(schema)
  const column = Math.max(...options.map(({ name }) => name.length)) + 2
  const lines = options.map(({ name, initial, description }) => {
    const shownInitial = initial === undefined ? '' : ` (default ${initial})`
    return `  ${name.padEnd(column)}${description}${shownInitial}`
  })
  return lines.join('\n')
}

/**
 * All resolved options, as YAML that is a valid config.
 *
 * @example
 * resolvedConfig({ model: 'tiny', optimizer: { lr: 0.1 } }, { model: 'sft.yaml', 'optimizer.lr': '--set' })
 */
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
