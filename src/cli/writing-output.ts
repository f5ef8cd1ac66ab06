import { type Output, openOutput } from '../files/index.js'
import { type Report, reportFor } from '../progress/index.js'
import { interruptible } from './interrupt.js'

export interface Writing {
  readonly output: Output
  readonly report: Report
  readonly signal: AbortSignal
}

/** Runs work that writes an output; an interruption says what becomes of it. Returns the exit code. */
export async function writingOutput(
  path: string,
  { inputs, directories = [] }: { inputs: readonly string[]; directories?: readonly (string | undefined)[] },
  // biome-ignore lint/suspicious/noConfusingVoidType: work that gives no exit code is done
  work: (writing: Writing) => Promise<number | void>,
): Promise<number> {
  const output = await openOutput(path, { inputs, directories: directories.filter(one => one !== undefined) })
  const report = reportFor(process.env)
  return interruptible({
    work: signal => work({ output, report, signal }),
    onInterrupt: () => report.line(`Interrupted. ${output.interrupted}`),
  })
}
