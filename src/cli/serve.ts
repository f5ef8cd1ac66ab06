import { basename, resolve } from 'node:path'
import { reportFor } from '../progress/index.js'
import { openEngine } from '../rollout/index.js'
import { ModelServer } from '../serve/index.js'
import { countFlag, engineFlags, engineHelp, engineOptions } from './engine-flags.js'
import { parseOptions, UsageError } from './usage.js'

export const help = `Usage: whetstone serve --model DIR [options]

Serves a model over HTTP, as OpenAI's API with vLLM's further fields: /v1/completions, /v1/chat/completions, /v1/models,
/inference/v1/generate, /tokenize, /detokenize, /health, /metrics. Ctrl-C or SIGTERM lets the requests in flight end.

${engineHelp}
  --host HOST             the address to listen at (default 127.0.0.1: this machine alone)
  --port PORT             (default 8000)
  --api-key KEY           clients must send it as a bearer token; also by WHETSTONE_API_KEY, which other users cannot see
  --served-model-name N   the model's name in requests (default: the directory's)
  --max-requests N        requests answered at once; more get 429 (default 512)
  --max-body-mb N         the largest body of a request (default 16)
  --drain-seconds N       how long requests in flight may take after SIGTERM (default 30)
`

export async function run(args: string[]): Promise<number> {
  const values = parseOptions(args, {
    ...engineFlags,
    host: { type: 'string', default: '127.0.0.1' },
    port: { type: 'string', default: '8000' },
    'api-key': { type: 'string' },
    'served-model-name': { type: 'string' },
    'max-requests': { type: 'string' },
    'max-body-mb': { type: 'string' },
    'drain-seconds': { type: 'string' },
  })
  const { model: directory, options } = engineOptions(values)
  const port = countFlag(values, 'port', 0)!
  if (port > 65535) throw new UsageError(`--port: expected a port, got ${port}`)
  const apiKey = values['api-key'] ?? process.env.WHETSTONE_API_KEY
  const maxRequests = countFlag(values, 'max-requests')
  const megabytes = countFlag(values, 'max-body-mb')
  const drainSeconds = countFlag(values, 'drain-seconds', 0) ?? 30
  const host = values.host!
  const report = reportFor(process.env)
  const loading = report.transfer('loading')
  const opened = await openEngine(directory, {
    ...options,
    onProgress: ({ loadedBytes, totalBytes }) => loading.at(loadedBytes, totalBytes),
  }).finally(() => loading.end())
  try {
    const name = values['served-model-name'] ?? basename(resolve(directory))
    const server = await ModelServer.start({
      engine: opened.engine,
      tokenizer: opened.tokenizer,
      vocabSize: opened.model.config.decoder.vocabSize,
      name,
      host,
      port,
      ...(apiKey ? { apiKey } : {}),
      ...(maxRequests === undefined ? {} : { maxRequests }),
      ...(megabytes === undefined ? {} : { maxBodyBytes: megabytes * 2 ** 20 }),
    }).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') throw new UsageError(`--port: ${port} is in use`)
      throw error
    })
    const open = !apiKey && !['127.0.0.1', '::1', 'localhost'].includes(host)
    report.line(`${name} at http://${host.includes(':') ? `[${host}]` : host}:${server.port}/v1`)
    if (open) report.line('Anyone who reaches this address can use it: --api-key asks for a key.')
    await new Promise<void>(resolve => {
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve())
    })
    report.line('Ending: requests in flight are answered first.')
    await server.close({ graceMs: drainSeconds * 1000 })
    return 0
  } finally {
    await opened.close()
  }
}
