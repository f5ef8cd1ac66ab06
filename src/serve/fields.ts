/** Fields of a JSON body, each read with its type checked. A field that is null is one that was not given. */
import { malformed } from './errors.js'

export class Fields {
  constructor(readonly raw: Readonly<Record<string, unknown>>) {}

  private read<T>(name: string, expected: string, is: (value: unknown) => boolean): T | undefined {
    const value = this.raw[name]
    if (value === undefined || value === null) return undefined
    if (!is(value)) throw malformed(`${name}: Input should be a valid ${expected}`, `body.${name}`)
    return value as T
  }

  integer(name: string): number | undefined {
    return this.read(name, 'integer', Number.isSafeInteger)
  }

  number(name: string): number | undefined {
    return this.read(name, 'number', value => typeof value === 'number' && Number.isFinite(value))
  }

  flag(name: string): boolean | undefined {
    return this.read(name, 'boolean', value => typeof value === 'boolean')
  }

  string(name: string): string | undefined {
    return this.read(name, 'string', value => typeof value === 'string')
  }

  object(name: string): Readonly<Record<string, unknown>> | undefined {
    return this.read(name, 'dictionary', value => typeof value === 'object' && !Array.isArray(value))
  }

  list(name: string): readonly unknown[] | undefined {
    return this.read(name, 'list', Array.isArray)
  }

  integers(name: string): readonly number[] | undefined {
    return this.read(name, 'list of integers', value => Array.isArray(value) && value.every(Number.isSafeInteger))
  }

  /** One string, or a list of them. */
  strings(name: string): readonly string[] | undefined {
    const value = this.read<string | readonly string[]>(
      name,
      'string or list of strings',
      given => typeof given === 'string' || (Array.isArray(given) && given.every(item => typeof item === 'string')),
    )
    return typeof value === 'string' ? [value] : value
  }
}
