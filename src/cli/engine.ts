import { z } from 'zod'
import { isApiKey } from '../http/index.js'
import { isLoopback, type StartEngineOptions, type StartedEngine, startEngine } from '../launch/index.js'
import { reportFor } from '../progress/index.js'
import { locateModel } from '../source/index.js'
import {
  actionFirst,
  choice,
  directory,
  file,
  flagHelp,
  integer,
  number,
  readFlags,
  text,
  toggle,
  UsageError,
} from './flags.js'
import { interruptible } from './interrupt.js'

const flags = z.object({
  type: choice(['vllm', 'sglang'], 'TYPE', 'vllm or sglang'),
  model: directory('a Hugging Face model directory, or an id of the Hub: org/name'),
  host: text('HOST', 'address to listen on; 127.0.0.1: only this machine', 'an address').default('127.0.0.1'),
  port: integer('port to listen on (default: a free one)', { min: 1, max: 65535 }).optional(),
  name: text('NAME', 'name of the model in requests (default: name of the directory)', 'a name').optional(),
  device: choice(['cpu', 'gpu'], 'DEVICE', 'cpu: needs a server built for CPUs; for small models').default('gpu'),
  dtype: text(
    'DTYPE',
    'dtype of the weights and the computation, such as float32 (default: the server chooses)',
    'a dtype',
  ).optional(),
  maxLength: integer('most tokens of a prompt and its response together (default: the context of the model)', {
    min: 1,
  }).optional(),
  loraRank: integer('highest LoRA rank of adapters that a run loads (default: no adapters)', { min: 1 }).optional(),
  memoryShare: number({
    description: 'share of the GPU memory that the server uses',
    placeholder: 'SHARE',
    expected: 'a number above 0 and at most 1',
    accepts: value => value > 0 && value <= 1,
  }).optional(),
  sleep: toggle('enable sleep mode: the server can free GPU memory for a trainer on the same GPU'),
  log: file('log file of the server (default: a temporary file)').optional(),
  readyMinutes: integer('minutes to wait for the server to start', { min: 1 }).default(10),
})

export const help = `Usage: whetstone engine start --type vllm|sglang --model DIR [options] [-- the server's own flags]

Starts a vLLM or SGLang server that is installed on this machine with the options a run needs (token ids, log-probabilities of
sampled tokens, weight updates), waits until it is ready and prints how a run uses it. Ctrl-C or SIGTERM stops it.

The command starts \`vllm\` from the PATH or from WHETSTONE_VLLM, and SGLang with \`python3\` or the Python in
WHETSTONE_SGLANG_PYTHON. If WHETSTONE_API_KEY is set, requests must send this key.

${flagHelp(flags)}
`

export async function run(args: string[]): Promise<number> {
  const { own, further } = splitAtDashes(actionFirst(args, 'start'))
  const { log, readyMinutes, device, sleep, type, model, host, ...rest } = readFlags(own, flags)
  const apiKey = process.env.WHETSTONE_API_KEY || undefined
  if (apiKey !== undefined && !isApiKey(apiKey))
    throw new UsageError('WHETSTONE_API_KEY: expected printable characters without spaces')
  const report = reportFor(process.env)
  return interruptible({
    work: async signal => {
      const { directory } = await locateModel(model, { report, signal })
      const engine = await start({
        ...present({ ...rest, apiKey, logFile: log }),
        ...(device === 'cpu' ? { device } : {}),
        ...(sleep ? { sleep: 'enabled' } : {}),
        ...{ type, model: directory, host, flags: further, readyTimeoutMs: readyMinutes * 60_000, signal },
      })
      report.line(`${engine.model} at ${engine.url}, log in ${engine.logFile}`)
      report.line(`In a run's config:\n  generator:\n    type: ${type}\n    urls: [${engine.url}]`)
      if (!isLoopback(host))
        report.line('Everyone who can reach this address can change the weights: keep it on a private network.')
      return untilEnd(engine, signal)
    },
    onInterrupt: () => report.line('The server has stopped.'),
  })
}

async function start(options: StartEngineOptions): Promise<StartedEngine> {
  const live = reportFor(process.env).live()
  // A terminal is updated every second, a log less often.
  const everySeconds = process.stderr.isTTY ? 0 : 15
  let shown = -everySeconds
  try {
    return await startEngine({
      ...options,
      onProgress({ seconds, lastLine }) {
        if (seconds - shown < everySeconds) return
        shown = seconds
        const details = lastLine === '' ? [] : [lastLine.slice(0, 100)]
        live.show({ at: `starting ${options.type}, ${Math.round(seconds)} s`, details })
      },
    })
  } finally {
    live.end()
  }
}

/** The exit code of a server that ended by itself; an interruption is thrown. */
async function untilEnd(engine: StartedEngine, signal: AbortSignal): Promise<number> {
  const interrupted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason))
    if (signal.aborted) reject(signal.reason)
  })
  try {
    const { code, signal: ended } = await Promise.race([engine.exited, interrupted])
    reportFor(process.env).line(`The server stopped (${ended ?? `exit code ${code}`}); its log is in ${engine.logFile}`)
    return code || 1
  } finally {
    await engine.stop()
  }
}

function splitAtDashes(args: readonly string[]): { own: string[]; further: string[] } {
  const at = args.indexOf('--')
  return at === -1 ? { own: [...args], further: [] } : { own: args.slice(0, at), further: args.slice(at + 1) }
}

type Present<T> = { [K in keyof T]?: Exclude<T[K], undefined> }

/** Removes undefined fields. */
function present<T extends object>(values: T): Present<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Present<T>
}
