import { Readable } from 'node:stream'
import { afterEach, beforeEach, vi } from 'vitest'
import { main } from '../../src/cli/main.js'

export class Printed {
  stdout = ''
  stderr = ''
  /** Both, in the order they came. */
  output = ''

  clear(): void {
    this.stdout = this.stderr = this.output = ''
  }

  /** Keeps what is printed from now on away from the terminal. Returns what ends that. */
  capture(): () => void {
    const take = (name: 'stdout' | 'stderr', text: unknown): void => {
      this[name] += text
      this.output += text
    }
    const spies = [['log', 'stdout'] as const, ['error', 'stderr'] as const].flatMap(([method, name]) => [
      vi.spyOn(console, method).mockImplementation(text => take(name, `${text}\n`)),
      vi.spyOn(process[name], 'write').mockImplementation((text: unknown, ...rest: unknown[]) => {
        take(name, text)
        for (const done of rest) if (typeof done === 'function') done()
        return true
      }),
    ])
    return () => {
      for (const spy of spies) spy.mockRestore()
    }
  }
}

/** What each test of this file has printed so far. After it, no mock of the test is left. */
export function capturedOutput(): Printed {
  const printed = new Printed()
  beforeEach(() => {
    printed.clear()
    printed.capture()
  })
  afterEach(() => vi.restoreAllMocks())
  return printed
}

export interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
  readonly output: string
}

/** Runs a command of `whetstone` in this process, on the sources as they are; `input` is what it can read. */
export async function cli(
  args: readonly string[],
  { cwd, input }: { cwd?: string; input?: string } = {},
): Promise<Ran> {
  const before = process.cwd()
  const stdin = Object.getOwnPropertyDescriptor(process, 'stdin')!
  const printed = new Printed()
  const restore = printed.capture()
  try {
    if (cwd !== undefined) process.chdir(cwd)
    if (input !== undefined)
      Object.defineProperty(process, 'stdin', { value: Readable.from([input]), configurable: true })
    return { code: await main([...args]), ...printed }
  } finally {
    process.chdir(before)
    Object.defineProperty(process, 'stdin', stdin)
    restore()
  }
}
