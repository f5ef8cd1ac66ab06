import { stat } from 'node:fs/promises'
import { z } from 'zod'
import { type ServedMedia, type ServeOptions, serve } from '../api/index.js'
import { isApiKey } from '../http/index.js'
import { reportFor } from '../progress/index.js'
import { type ControlOptions, logprobsModes } from '../serve/index.js'
import { conversationTemplateFlag } from './chat-template-flag.js'
import { devicesFlag } from './device-flag.js'
import { engineFlags, engineOptions, several, usableDevice } from './engine-flags.js'
import { choice, directory, flagHelp, flagName, integer, readFlags, text, toggle, UsageError } from './flags.js'
import { endSignal, interruptibleStart } from './interrupt.js'
import { mediaFlags, mediaOption } from './media-flags.js'

const expectedKey = 'expected a key of printable characters without spaces, not empty'

const readingFlags = mediaFlags.omit({ mediaUrls: true })

const flags = engineFlags.extend({
  devices: devicesFlag,
  host: text('HOST', 'address to listen on; 127.0.0.1: only this machine', 'an address').default('127.0.0.1'),
  port: integer('port to listen on; 0: a free one', { min: 0, max: 65535 }).default(8000),
  apiKey: z
    .string()
    .refine(isApiKey, expectedKey)
    .meta({
      placeholder: 'KEY',
      description:
        'API key that clients must send as a bearer token; better set WHETSTONE_API_KEY, which other users of the machine cannot see',
    })
    .optional(),
  allowHost: several(
    z
      .string()
      .regex(/^[a-z0-9_.-]+$/i, 'expected a host name without scheme and port')
      .meta({
        placeholder: 'NAME',
        description: 'host name that clients may use, besides localhost and addresses; repeat for more',
      }),
  ),
  allowOrigin: several(
    z
      .string()
      .regex(/^(\*|[a-z][a-z0-9+.-]*:\/\/[^/\s]+\/?)$/i, 'expected an origin such as https://chat.example, or *')
      .meta({
        placeholder: 'ORIGIN',
        description: 'web origin that may send requests (CORS), such as https://chat.example, or *; repeat for more',
      }),
  ),
  chatTemplate: conversationTemplateFlag.meta({
    description: 'chat template: auto (the one of the tokenizer), chatml or a Jinja file',
  }),
  servedModelName: text('NAME', 'name of the model in requests (default: name of the directory)', 'a name').optional(),
  maxRequests: integer('most requests at the same time; more get status 429 (default 512)', { min: 1 }).optional(),
  maxSamples: integer('most choices of all requests at the same time; more get status 429 (default 16384)', {
    min: 1,
  }).optional(),
  maxBodyMb: integer('largest request body in MiB (default 16)', { min: 1 }).optional(),
  maxRequestMb: integer('most memory of one request and its answer in MiB; more gets status 400 (default 256)', {
    min: 1,
  }).optional(),
  maxTotalMb: integer('most memory of all requests in MiB; more get status 429 (default 1024)', { min: 1 }).optional(),
  logprobsMode: choice(
    logprobsModes,
    'MODE',
    'raw_logprobs: of the distribution of the model; processed_logprobs: of the distribution after temperature and filters',
  ).default('raw_logprobs'),
  control: toggle('allow clients to pause the server, put it to sleep and load other weights; needs an API key'),
  weightsRoot: directory('with --control: only read weights and adapters from this directory').optional(),
  enableLora: toggle('with --control: allow LoRA adapters; needs memory for a second copy of the layer matrices'),
  maxLoras: integer('with --enable-lora: most adapters loaded at the same time (default 8)', { min: 1 }).optional(),
  mediaRoot: directory(
    'directory of images and videos that requests may name by file: URLs (default: none)',
  ).optional(),
  mediaUrls: choice(
    ['none', 'public', 'any'],
    'WHICH',
    'which URLs of images the server fetches: none, public (servers of the internet) or any (also of the own network)',
  ).default('none'),
  maxMedia: integer('most images and videos of a request (default 16)', { min: 1 }).optional(),
  maxMediaMb: integer('largest file of an image or a video in MiB (default 64)', { min: 1 }).optional(),
  maxImagePixels: integer('most pixels of an image before it is resized (default 64000000)', { min: 1 }).optional(),
  ...readingFlags.shape,
  record: text(
    'FILE',
    'record sessions of agents: POST /v1/sessions opens one, and each episode that ends is a line of this file; needs an API key',
    'a file',
  ).optional(),
  drainSeconds: integer('seconds for requests in flight to finish after SIGTERM', { min: 0 }).default(30),
})

export const help = `Usage: whetstone serve --model DIR [options]

Serves a model over HTTP with the OpenAI API and the extra fields of vLLM: /v1/completions, /v1/chat/completions, /v1/models,
/inference/v1/generate, /tokenize, /detokenize, /health, /metrics. Ctrl-C or SIGTERM finishes the requests in flight, then stops.
With --control it is a rollout server: a training on another machine controls it through the control routes of vLLM.

${flagHelp(flags)}
`

export async function run(args: string[]): Promise<number> {
  const { host, port, drainSeconds, allowHost, allowOrigin, ...values } = readFlags(args, flags)
  const apiKey = values.apiKey ?? process.env.WHETSTONE_API_KEY
  if (apiKey !== undefined && !isApiKey(apiKey)) throw new UsageError(`WHETSTONE_API_KEY: ${expectedKey}`)
  checkControl(values, apiKey)
  if (values.record !== undefined && apiKey === undefined)
    throw new UsageError('--record: needs an API key: set WHETSTONE_API_KEY or --api-key')
  usableDevice(values.device)
  const limits = {
    maxRequests: values.maxRequests,
    maxSamples: values.maxSamples,
    maxBodyBytes: bytes(values.maxBodyMb),
    maxRequestBytes: bytes(values.maxRequestMb),
    maxTotalBytes: bytes(values.maxTotalMb),
  }
  const report = reportFor(process.env)
  const options: ServeOptions = {
    ...engineOptions(values),
    ...{ devices: values.devices, model: values.model, chatTemplate: values.chatTemplate, host, port, report },
    ...{ allowHosts: allowHost, allowOrigins: allowOrigin, logprobsMode: values.logprobsMode },
    ...(values.enableLora ? { adapters: 'exchangeable' as const } : {}),
    ...(values.servedModelName === undefined ? {} : { servedModelName: values.servedModelName }),
    ...(values.control ? { control: controlOptions(values) } : {}),
    ...(values.record === undefined ? {} : { record: { file: values.record } }),
    media: await mediaOptions(values),
    ...(apiKey === undefined ? {} : { apiKey }),
    ...Object.fromEntries(Object.entries(limits).filter(([, limit]) => limit !== undefined)),
  }
  const opening = interruptibleStart(report, signal => serve({ ...options, signal }))
  const server = await opening.catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EADDRINUSE') throw new UsageError(`--port: ${port} is in use`)
    throw error
  })
  if (typeof server === 'number') return server
  // Before the address is printed, so that a signal right after it is handled.
  const ended = endSignal()
  const open = apiKey === undefined && !['127.0.0.1', '::1', 'localhost'].includes(host)
  report.line(`${server.name} at ${server.url}`)
  if (open) report.line('Everyone who can reach this address can use it: set --api-key to require a key.')
  const failure = await Promise.race([ended.then(() => undefined), server.failed])
  if (failure) {
    await server.close()
    throw failure
  }
  report.line('Stopping: requests in flight are finished first.')
  await server.close({ graceMs: drainSeconds * 1000 })
  return 0
}

type MediaFlags = Pick<
  z.output<typeof flags>,
  'mediaRoot' | 'mediaUrls' | 'maxMedia' | 'maxMediaMb' | 'maxImagePixels' | keyof typeof readingFlags.shape
>

async function mediaOptions(given: MediaFlags): Promise<ServedMedia> {
  const { mediaRoot, mediaUrls, maxMedia, maxMediaMb, maxImagePixels } = given
  const { minPixels, maxPixels, videoMinPixels, videoMaxPixels, ffmpeg } = given
  const { urls: _, ...reading } =
    mediaOption({ minPixels, maxPixels, videoMinPixels, videoMaxPixels, ffmpeg }).media ?? {}
  if (mediaRoot !== undefined && !(await stat(mediaRoot).catch(() => undefined))?.isDirectory())
    throw new UsageError(`--media-root: ${mediaRoot} is not a directory`)
  return {
    ...reading,
    limits: {
      ...(maxMediaMb === undefined ? {} : { maxBytes: maxMediaMb * 2 ** 20 }),
      ...(maxImagePixels === undefined ? {} : { maxPixels: maxImagePixels }),
    },
    ...(mediaRoot === undefined ? {} : { root: mediaRoot }),
    ...(mediaUrls === 'none' ? {} : { urls: { addresses: mediaUrls } }),
    ...(maxMedia === undefined ? {} : { maxItems: maxMedia }),
  }
}

type Flags = Pick<z.output<typeof flags>, 'control' | 'weightsRoot' | 'enableLora' | 'maxLoras'>

/** Said before anything is loaded. */
function checkControl({ control, weightsRoot, enableLora, maxLoras }: Flags, apiKey: string | undefined): void {
  if (control && apiKey === undefined)
    throw new UsageError('--control needs a key (WHETSTONE_API_KEY, or --api-key): clients can change the served model')
  const given = { weightsRoot, enableLora, maxLoras }
  for (const [name, value] of Object.entries(given))
    if (value !== undefined && !control) throw new UsageError(`${flagName(name)} needs --control`)
  if (enableLora && weightsRoot === undefined)
    throw new UsageError('--enable-lora needs --weights-root, the directory of the adapters')
  if (maxLoras !== undefined && !enableLora) throw new UsageError('--max-loras needs --enable-lora')
}

const controlOptions = ({ weightsRoot, maxLoras }: Flags): Omit<ControlOptions, 'weights'> => ({
  ...(weightsRoot === undefined ? {} : { weightsRoot }),
  ...(maxLoras === undefined ? {} : { maxAdapters: maxLoras }),
})

const bytes = (megabytes: number | undefined): number | undefined =>
  megabytes === undefined ? undefined : megabytes * 2 ** 20
