/**
 * A tool that runs JavaScript of the model: QuickJS in WebAssembly, in a thread of its own. Scripts have no network, files, timers or
 * modules, and limits on time, memory and output. Needs `npm install quickjs-emscripten`.
 */
import { Worker } from 'node:worker_threads'
import { defineTool } from 'whetstone'
import { z } from 'zod'

const limits = { milliseconds: 500, bytes: 16 * 2 ** 20, stackBytes: 256 * 2 ** 10, characters: 4000 }
/** QuickJS cannot interrupt some of its own loops, such as those of long arrays: then the thread is ended. */
const secondsToEnd = 2

export default defineTool({
  name: 'javascript',
  description: 'Runs JavaScript and answers with what console.log wrote, and with the value of the last expression.',
  input: z.object({ code: z.string().max(20_000) }),
  effect: 'pure',
  run: ({ code }, { signal }) => runScript(code, signal),
})

interface Said {
  readonly content: string
  readonly isError?: boolean
}

/** A mistake of the script is an answer that the model reads. */
export function runScript(code: string, signal?: AbortSignal): Promise<Said> {
  const failed = (why: string): Said => ({ content: `Error: ${why}`, isError: true })
  return new Promise(resolve => {
    const worker = new Worker(new URL('./worker.mjs', import.meta.url), { workerData: { code, limits } })
    let timer: NodeJS.Timeout | undefined
    const end = (said: Said): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', stopped)
      resolve(said)
      void worker.terminate()
    }
    const stopped = (): void => end(failed('the script was stopped'))
    signal?.addEventListener('abort', stopped)
    worker.on('message', (message: Said | 'ready') => {
      if (message !== 'ready') end(message)
      else timer = setTimeout(() => end(failed('the script did not end')), secondsToEnd * 1000)
    })
    worker.once('error', error => end(failed(error.message.slice(0, 200))))
    worker.once('exit', () => end(failed('the script ended its thread')))
  })
}
