/** Samples that are scored again, each time by a process of its own: rewards bring models with them, and what ends one ends no server. */
import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { RescoreAnswer } from './api.js'
import { RequestError } from './errors.js'
import type { RescoreOptions } from './rescore.js'
import { type FromRescoreProcess, rescoreEntry } from './rescore-entry.js'

/** Characters of what a process printed that an error has. */
const keptText = 1000

export class Rescoring {
  readonly #children = new Set<ChildProcess>()

  /** The process ends with the signal, whatever it does. */
  rescore(asked: RescoreOptions, signal: AbortSignal): Promise<RescoreAnswer> {
    signal.throwIfAborted()
    const child = fork(fileURLToPath(rescoreEntry.url), [], {
      execArgv: [],
      serialization: 'advanced',
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    })
    this.#children.add(child)
    const end = (): void => void child.kill('SIGKILL')
    signal.addEventListener('abort', end)
    let printed = ''
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      printed = (printed + text).slice(-keptText)
      process.stderr.write(text)
    })
    return new Promise<RescoreAnswer>((resolve, reject) => {
      child.on('message', (said: FromRescoreProcess) => {
        if ('answer' in said) resolve(said.answer)
        else reject(new RequestError(said.status, said.error))
      })
      child.on('error', reject)
      // After all that it printed.
      child.on('close', (code, by) => {
        const how = by === null ? `with exit code ${code}` : `by ${by}`
        const words = printed.trim() === '' ? '' : `: ${printed.trim()}`
        reject(new RequestError(500, `the process that scored the samples was ended ${how}${words}`))
      })
      child.send(asked)
    }).finally(() => {
      signal.removeEventListener('abort', end)
      this.#children.delete(child)
    })
  }

  close(): void {
    for (const child of this.#children) child.kill('SIGKILL')
  }
}
