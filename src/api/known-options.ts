/** Options of functions without a config file: names that JavaScript would ignore in silence are errors. */
import { ConfigError, didYouMean } from '../errors/index.js'

/** `known` has every option; the compiler checks that it is complete. Those that are `required` must be there. */
export function checkNames<Options extends object>(
  verb: string,
  options: Options,
  known: Readonly<Record<keyof Options, true>>,
  required: readonly (keyof Options & string)[],
): void {
  if (typeof options !== 'object' || options === null) throw new ConfigError([{ message: `${verb}: expected options` }])
  const names = Object.keys(known)
  const given = Object.entries(options).filter(([name, value]) => value !== undefined && !names.includes(name))
  const problems = given.map(([path]) => ({
    path,
    message: `${verb}: there is no option "${path}"${didYouMean(path, names)}`,
  }))
  if (problems.length > 0) throw new ConfigError(problems)
  const missing = required.filter(name => options[name] === undefined)
  if (missing.length > 0) throw new ConfigError(missing.map(path => ({ path, message: `${verb}: ${path}: missing` })))
}

/** An object of these names, for {@link checkNames}. */
export const named = <const Names extends readonly string[]>(...names: Names): Record<Names[number], true> =>
  Object.fromEntries(names.map(name => [name, true])) as Record<Names[number], true>
