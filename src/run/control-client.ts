/** Asks a run that trains, through its socket. */
import { connect } from 'node:net'
import { isSystemError } from '../errors/index.js'
import { socketAddress } from './control-socket.js'
import { RunError } from './errors.js'

/**
 * The lines that a run answers with. A {@link RunError} says that no process listens. A run that is alive answers an act at once; `patienceMs`
 * is how long it may say nothing, 0 without a limit.
 */
export async function* askRun(
  directory: string,
  request: unknown,
  { signal, patienceMs = 30_000 }: { signal?: AbortSignal; patienceMs?: number } = {},
): AsyncGenerator<{ readonly [field: string]: unknown }> {
  const { address, release } = await socketAddress(directory)
  const socket = connect(address)
  const abort = (): void => void socket.destroy()
  signal?.addEventListener('abort', abort, { once: true })
  try {
    socket.setTimeout(patienceMs, () => socket.destroy(new RunError(tooSlow(patienceMs))))
    socket.setEncoding('utf8').write(`${JSON.stringify(request)}\n`)
    let text = ''
    for await (const part of socket as AsyncIterable<string>) {
      text += part
      const lines = text.split('\n')
      text = lines.pop()!
      for (const line of lines) yield JSON.parse(line) as { readonly [field: string]: unknown }
    }
  } catch (error) {
    if (!isSystemError(error)) throw error
    throw new RunError(`${directory}: no process trains this run now, so that nothing can be done to it`, {
      cause: error,
      remedy: 'Resume the run first.',
    })
  } finally {
    signal?.removeEventListener('abort', abort)
    socket.destroy()
    await release()
  }
}

const tooSlow = (ms: number): string =>
  `the run has not answered within ${ms / 1000} seconds: it is in a long step, and takes an act up when that is done`
