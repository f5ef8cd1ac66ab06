/** A definition as a person reads it, ours and a user's alike. */
import { type Definition, isEstimator } from '../../maths/index.js'
import { isAlgorithm } from '../rl/algorithms.js'
import { optionTable } from './option-table.js'

/** What it defines, what it needs, and its options as a table in Markdown. */
export function describeDefinition(definition: Definition): string {
  const { defines, name, description, options } = definition
  const kind = 'kind' in definition ? `${definition.kind} ` : ''
  const table = Object.keys(options.shape).length === 0 ? [] : ['', optionTable(options)]
  const formula = 'formula' in definition ? [`formula: ${definition.formula}`] : []
  return [`${kind}${defines} ${name}: ${description}`, ...formula, ...traitsOf(definition), ...table].join('\n')
}

function traitsOf(definition: Definition): string[] {
  if (isEstimator(definition)) {
    const { compares, values, reads } = definition
    return [`compares: ${compares}`, `values of a critic: ${values}`, `reads: ${reads.join(', ') || 'nothing'}`]
  }
  if (isAlgorithm(definition))
    return Object.entries(definition.set).map(([option, value]) => `${option}: ${shown(value)}`)
  return 'heldConstant' in definition ? [`held constant: ${definition.heldConstant}`] : []
}

/** `{ kind: fixed, coef: 0 }`, as one writes it in YAML. */
export function shown(value: unknown): string {
  const plain: unknown = JSON.parse(JSON.stringify(value))
  if (typeof plain !== 'object' || plain === null || Array.isArray(plain)) return String(plain)
  return `{ ${Object.entries(plain)
    .map(([key, inner]) => `${key}: ${shown(inner)}`)
    .join(', ')} }`
}
