import { Readable } from 'node:stream'
import { afterEach, beforeEach, vi } from 'vitest'
import { main } from '../../src/cli/main.js'

export interface Printed {
  stdout: string
  stderr: string
  /** Both, in the order they came. */
  output: string
}

/** Keeps what is printed from now on away from the terminal. */
function capture(): { printed: Printed; restore: () => void } {
  const printed: Printed = { stdout: '', stderr: '', output: '' }
  const take = (name: 'stdout' | 'stderr', text: unknown): void => {
    printed[name] += text
    printed.output += text
  }
  const spies = [['log', 'stdout'] as const, ['error', 'stderr'] as const].flatMap(([method, name]) => [
    vi.spyOn(console, method).mockImplementation(text => take(name, `${text}\n`)),
    vi.spyOn(process[name], 'write').mockImplementation((text: unknown, ...rest: unknown[]) => {
      take(name, text)
      for (const done of rest) if (typeof done === 'function') done()
      return true
    }),
  ])
  return {
    printed,
    restore: () => {
      for (const spy of spies) spy.mockRestore()
    },
  }
}

/** What each test of the file has printed so far. */
export function capturedOutput(): Printed {
  let now: Printed = { stdout: '', stderr: '', output: '' }
  beforeEach(() => {
    now = capture().printed
  })
  afterEach(() => vi.restoreAllMocks())
  return {
    get stdout() {
      return now.stdout
    },
    get stderr() {
      return now.stderr
    },
    get output() {
      return now.output
    },
  }
}

export interface Ran extends Readonly<Printed> {
  readonly code: number
}

/** Runs a command of `whetstone` in this process, on the sources as they are; `input` is what it can read. */
export async function cli(
  args: readonly string[],
  { cwd, input }: { cwd?: string; input?: string } = {},
): Promise<Ran> {
  const before = process.cwd()
  const stdin = Object.getOwnPropertyDescriptor(process, 'stdin')!
  const { printed, restore } = capture()
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
