/** The models, the engine and the tokenizer of a maker. A part that is missing or of a wrong kind is an error at once. */
import { ExperienceConfigError } from './config.js'

interface Part {
  /** A method that it must have. */
  readonly method: string
  readonly expected: string
  readonly needed: 'always' | 'optional'
  /** A word that stands for it. */
  readonly word?: string
}

const model = (role: string): string => `a model, such as await LocalModel.load(directory, { role: '${role}' })`

const language: Part = {
  method: 'score',
  expected: `${model('language')}, or 'adapter-off'`,
  needed: 'optional',
  word: 'adapter-off',
}

const parts: Readonly<Record<string, Part>> = {
  actor: { method: 'score', expected: model('language'), needed: 'always' },
  tokenizer: { method: 'encode', expected: 'a tokenizer, such as await Tokenizer.load(directory)', needed: 'always' },
  generator: {
    method: 'generate',
    expected: 'a generator, such as new LocalEngine(actor, { tokenizer })',
    needed: 'always',
  },
  critic: { method: 'score', expected: model('value'), needed: 'optional' },
  reference: language,
  initialModel: language,
}

/**
 * The options without those that are null, which stand for "none", and with one name for the reference. A part that cannot be
 * used is an error that names it.
 */
export function checkedParts<Options extends object>(options: Options): Options {
  if (typeof options !== 'object' || options === null)
    throw new ExperienceConfigError(['expected an object of options: actor, tokenizer, generator, and a reward'])
  const given: Record<string, unknown> = Object.fromEntries(
    Object.entries(options).filter(([name, value]) => value !== null || !(name in parts)),
  )
  const problems = Object.entries(parts).flatMap(([name, { method, expected, needed, word }]) => {
    const value = given[name]
    if (value === undefined) return needed === 'always' ? [`${name}: is missing; expected ${expected}`] : []
    return value === word || hasMethod(value, method) ? [] : [`${name}: expected ${expected}, got ${shown(value)}`]
  })
  const { initialModel, reference = initialModel, ...rest } = given
  if (initialModel !== undefined && given.reference !== undefined)
    problems.push('initialModel: is another name of reference; give one of the two')
  if (problems.length > 0) throw new ExperienceConfigError(problems)
  return (reference === undefined ? rest : { ...rest, reference }) as Options
}

function hasMethod(value: unknown, method: string): boolean {
  return typeof value === 'object' && value !== null && typeof (value as Record<string, unknown>)[method] === 'function'
}

function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value)
  return Array.isArray(value) ? 'a list' : typeof value === 'object' ? 'another object' : `${value}`
}
