/**
 * An MCP server as a child process, one JSON message a line. Unlike the library's transport, the server has a process group of its own,
 * which ends as a whole: programs that start others (npx, uvx) would leave them behind.
 */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import { signalGroup, tieGroup } from '../process-group.js'

export interface ServerCommand {
  readonly command: readonly [string, ...string[]]
  /** Beside PATH, HOME and the like. */
  readonly env: Readonly<Record<string, string>>
}

const inherited = ['HOME', 'LANG', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'TMPDIR', 'USER']
const millisecondsToEnd = 2000
const errorLines = 5

export class ProcessTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void
  private child: ChildProcessWithoutNullStreams | undefined
  private untie = (): void => {}
  private readonly words: string[] = []

  constructor(private readonly options: ServerCommand) {}

  /** The last lines that the server wrote to its error output. */
  get lastWords(): string {
    return this.words.join('\n')
  }

  async start(): Promise<void> {
    const [program, ...args] = this.options.command
    const env = Object.fromEntries(inherited.flatMap(name => (process.env[name] ? [[name, process.env[name]]] : [])))
    const child = spawn(program, args, { detached: true, stdio: 'pipe', env: { ...env, ...this.options.env } })
    this.child = child
    this.untie = tieGroup(child)
    // What it leaves behind holds its output open, and 'close' would not come.
    child.once('exit', () => this.end())
    child.once('close', () => this.onclose?.())
    // A server that is gone reads nothing; its end is reported by 'close'.
    child.stdin.on('error', () => {})
    createInterface({ input: child.stderr }).on('line', line => {
      this.words.push(line.slice(0, 300))
      if (this.words.length > errorLines) this.words.shift()
    })
    createInterface({ input: child.stdout }).on('line', line => this.take(line))
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve)
      child.once('error', error => {
        this.untie()
        reject(error)
      })
    })
  }

  async send(message: JSONRPCMessage): Promise<void> {
    this.child?.stdin.write(`${JSON.stringify(message)}\n`)
  }

  /** Ends the input, which asks a server to end; then the whole group. */
  async close(): Promise<void> {
    const { child } = this
    if (!child) return
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise<void>(resolve => child.once('exit', () => resolve()))
    child.stdin.end()
    await Promise.race([ended, sleep(millisecondsToEnd, undefined, { ref: false })])
    if (child.exitCode === null && child.signalCode === null) this.end()
  }

  /** Ends the group: also what the server has started and left behind. */
  private end(): void {
    signalGroup(this.child!, 'SIGKILL')
    this.untie()
  }

  private take(line: string): void {
    if (line.trim() === '') return
    try {
      this.onmessage?.(JSON.parse(line))
    } catch {
      this.onerror?.(new Error(`a line that is no JSON: ${line.slice(0, 200)}`))
    }
  }
}
