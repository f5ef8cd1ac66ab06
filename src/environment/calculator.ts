/** A calculator: sums, products, powers and a few functions. It reads expressions itself, and runs no code. */
import { z } from 'zod'
import { defineTool } from './tool.js'

const functions: Readonly<Record<string, (value: number) => number>> = {
  abs: Math.abs,
  ceil: Math.ceil,
  floor: Math.floor,
  round: Math.round,
  sqrt: Math.sqrt,
}

/**
 * A tool that computes an expression, such as `(3 + 4) * 2`.
 *
 * @example
 * const environment = toolEnvironment({ tools: [calculator] })
 */
export const calculator = defineTool({
  name: 'calculator',
  description: `Computes an arithmetic expression with + - * / % ^, parentheses and ${Object.keys(functions).join(', ')}.`,
  input: z.object({ expression: z.string().max(1000).describe('the expression, such as (3 + 4) * 2') }),
  effect: 'pure',
  timeoutMs: 1000,
  maxResultTokens: 64,
  run: ({ expression }) => {
    const result = calculate(expression)
    return typeof result === 'number' ? String(result) : { content: `Error: ${result.message}`, isError: true }
  },
})

/** The value of an expression, or what is wrong with it. */
export function calculate(expression: string): number | { readonly message: string } {
  try {
    const value = new Expression(expression).value()
    return Number.isFinite(value) ? Number(value.toPrecision(15)) : { message: `the result is ${value}` }
  } catch (error) {
    return { message: (error as Error).message }
  }
}

/** Recursive descent. Depth is bounded by the length of the expression. */
class Expression {
  private at = 0
  constructor(private readonly text: string) {}

  value(): number {
    const value = this.sum()
    if (this.peek() !== '') throw new Error(`unexpected ${JSON.stringify(this.peek())} at character ${this.at + 1}`)
    return value
  }

  private peek(): string {
    while (/\s/.test(this.text[this.at] ?? '')) this.at++
    return this.text[this.at] ?? ''
  }

  private take(symbols: string): string | undefined {
    const symbol = this.peek()
    if (symbol === '' || !symbols.includes(symbol)) return undefined
    this.at++
    return symbol
  }

  private sum(): number {
    let value = this.product()
    for (let sign = this.take('+-'); sign; sign = this.take('+-'))
      value = sign === '+' ? value + this.product() : value - this.product()
    return value
  }

  private product(): number {
    let value = this.signed()
    for (let sign = this.take('*/%'); sign; sign = this.take('*/%')) {
      const other = this.signed()
      value = sign === '*' ? value * other : sign === '/' ? value / other : value % other
    }
    return value
  }

  private signed(): number {
    if (this.take('-')) return -this.signed()
    if (this.take('+')) return this.signed()
    return this.power()
  }

  private power(): number {
    const base = this.atom()
    return this.take('^') ? base ** this.signed() : base
  }

  private atom(): number {
    if (this.take('(')) {
      const value = this.sum()
      if (!this.take(')')) throw new Error('a parenthesis is not closed')
      return value
    }
    this.peek()
    const rest = this.text.slice(this.at)
    const number = /^(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?/i.exec(rest)?.[0]
    if (number) {
      this.at += number.length
      return Number(number)
    }
    const name = /^[a-z]+/i.exec(rest)?.[0]
    if (name !== undefined && Object.hasOwn(functions, name)) {
      this.at += name.length
      if (this.peek() !== '(') throw new Error(`expected ( after ${name}`)
      return functions[name]!(this.atom())
    }
    throw new Error(
      rest === ''
        ? 'the expression ends too early'
        : `unexpected ${JSON.stringify(rest[0])} at character ${this.at + 1}`,
    )
  }
}
