import { spawn } from 'node:child_process'

export type ProcessResult =
  | { kind: 'missing' }
  | {
      kind: 'exited'
      code: number
      stdout: string /** Both streams as they came, at most the last 64 KiB. */
      output: string
    }

interface ProcessOptions {
  env?: NodeJS.ProcessEnv
  cwd?: string
  stdin?: string
  signal?: AbortSignal
  timeoutMs?: number
  onLine?: (line: string) => void
}

const keep = 64 * 1024

/**
 * Runs a program to its end. It gets a process group of its own, so that stopping it also stops what it started: a
 * compiler driver's `cc1plus`, pip's helpers. Rejects only when `signal` is aborted; a program that is not there is `missing`.
 */
export function runProcess(
  command: string,
  args: readonly string[],
  options: ProcessOptions = {},
): Promise<ProcessResult> {
  const { signal } = options
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const child = spawn(command, args, {
      detached: true,
      stdio: [options.stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      ...(options.env && { env: options.env }),
      ...(options.cwd && { cwd: options.cwd }),
    })
    const stop = () => {
      try {
        if (child.pid) process.kill(-child.pid, 'SIGKILL')
      } catch {
        // It ended by itself in the meantime.
      }
    }
    const timer = options.timeoutMs && setTimeout(stop, options.timeoutMs)
    signal?.addEventListener('abort', stop)

    let stdout = ''
    let output = ''
    let line = ''
    const take = (text: string) => {
      output = (output + text).slice(-keep)
      const lines = (line + text).split('\n')
      line = lines.pop() ?? ''
      for (const whole of lines) options.onLine?.(whole)
    }
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      stdout = (stdout + text).slice(-keep)
      take(text)
    })
    child.stderr?.setEncoding('utf8').on('data', take)
    child.stdin?.on('error', () => {}).end(options.stdin)

    const settle = (then: () => void) => {
      clearTimeout(timer || undefined)
      signal?.removeEventListener('abort', stop)
      then()
    }
    child.on('error', () => settle(() => resolve({ kind: 'missing' })))
    child.on('close', code =>
      settle(() =>
        signal?.aborted ? reject(signal.reason) : resolve({ kind: 'exited', code: code ?? 1, stdout, output }),
      ),
    )
  })
}

/** The last lines of a program's output, for an error message. */
export function tail(output: string, lines = 12): string {
  return output.trimEnd().split('\n').slice(-lines).join('\n')
}
