/** Runs the program of an agent for one episode, in a process group of its own, which ends as a whole. */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { signalGroup, tieGroup } from '../../environment/index.js'
import { onAbort } from '../../errors/index.js'

interface AgentProgram {
  readonly command: readonly [string, ...string[]]
  readonly cwd?: string | undefined
  readonly env: Readonly<Record<string, string>>
  /** Written to its standard input. */
  readonly input: string
}

const millisecondsToEnd = 2000
const lastLines = 12
/** Longer variables are refused by Linux. */
export const longestVariable = 100_000

/** Resolves when the program ended with 0. What it says is not kept, but for its last words in an error. */
export async function runProgram({ command, cwd, env, input }: AgentProgram, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  const [program, ...args] = command
  const child = spawn(program, args, { detached: true, stdio: 'pipe', cwd, env: { ...process.env, ...env } })
  const words: string[] = []
  for (const output of [child.stdout, child.stderr])
    createInterface({ input: output }).on('line', line => {
      words.push(line.slice(0, 300))
      if (words.length > lastLines) words.shift()
    })
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const untie = tieGroup(child)
  const ended = new Promise<string | undefined>((resolve, reject) => {
    child.once('error', error => reject(new Error(`${program} cannot be started: ${error.message}`)))
    // A child of the program may hold its output open: the program's own end counts.
    child.once('exit', (code, by) => resolve(code === 0 ? undefined : by ? `was ended by ${by}` : `ended with ${code}`))
  })
  const unlink = onAbort(signal, () => signalGroup(child, 'SIGTERM'))
  try {
    const problem = await Promise.race([ended, aborted(signal, ended)])
    signal.throwIfAborted()
    // Lets the last lines arrive.
    if (problem !== undefined) await sleep(20)
    const said = words.length > 0 ? ` Its last words: ${words.join('\n')}` : ''
    if (problem !== undefined) throw new Error(`${program} ${problem}.${said}`)
  } finally {
    unlink()
    signalGroup(child, 'SIGKILL')
    untie()
  }
}

/** After an abort the program has some time to end. */
function aborted(signal: AbortSignal, ended: Promise<unknown>): Promise<never> {
  return new Promise((_, reject) => {
    onAbort(signal, () => {
      const later = setTimeout(() => reject(signal.reason), millisecondsToEnd)
      void ended
        .catch(() => {})
        .finally(() => {
          clearTimeout(later)
          reject(signal.reason)
        })
    })
  })
}
