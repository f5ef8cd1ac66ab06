/** Opens the generator: the engine in this process, running servers, or a server started for the run. */
import { join, relative } from 'node:path'
import type { z } from 'zod'
import { DistributedGenerator } from '../../distributed/index.js'
import { type StartedEngine, startEngine } from '../../launch/index.js'
import { described, ownOptions } from '../../maths/index.js'
import { LocalModel } from '../../model/index.js'
import {
  connectSglang,
  connectVllm,
  deviceMemory,
  type Generator,
  LocalEngine,
  type LocalEngineOptions,
  sequencesAtOnce,
} from '../../rollout/index.js'
import { keyOf } from '../checks/check-generator.js'
import { tryGenerator } from '../checks/try-generator.js'
import { type EngineType, type GeneratorConfig, localSchema, serverSchema } from '../config/generator.js'
import { defineGenerator, type GeneratorContext, type GeneratorDefinition } from './define-generator.js'
import type { LoadedModel } from './load-model.js'

/**
 * The engine that samples from a loaded model: of a model with a copy on every rank, an engine on each. They see new weights at
 * once.
 */
export async function engineOver(
  model: LoadedModel<'language'>,
  { tokenizer, ...options }: Omit<LocalEngineOptions, 'memory' | 'adapters'>,
): Promise<LocalEngine | DistributedGenerator> {
  if (model instanceof LocalModel) return new LocalEngine(model, { ...options, ...(tokenizer && { tokenizer }) })
  const text = tokenizer && { tokenizer: { own: tokenizer, directory: tokenizer.dir } }
  return DistributedGenerator.open(model, { ...options, ...text })
}

/** Training needs most of a GPU: its activations come and go next to the cache of the engine. */
export const generationCacheShare = 0.2

interface OpenGeneratorOptions extends Omit<GeneratorContext, 'options' | 'onClose'> {
  readonly config: GeneratorConfig
}

export interface OpenedGenerator {
  readonly generator: Generator
  /** Ends it, and the server that was started. */
  close(): Promise<void>
}

/** The engine in this process, and clients of servers. One more is an entry here, and a name in the config's schema. */
const generators: Readonly<Record<EngineType, GeneratorDefinition>> = {
  local: defineGenerator({
    name: 'local',
    description: 'the engine in this process',
    options: localSchema,
    open: context =>
      engineOver(context.policy ?? context.actor, { tokenizer: context.tokenizer, ...localOptions(context) }),
  }),
  vllm: server('vllm', 'servers of vLLM', connectVllm),
  sglang: server('sglang', 'servers of SGLang', connectSglang),
}

function server(
  name: 'vllm' | 'sglang',
  description: string,
  connect: (options: ConnectOptions) => Promise<Generator>,
): GeneratorDefinition {
  return defineGenerator({
    name,
    description,
    options: serverSchema,
    open: async context => {
      const { urls } = context.options
      if (urls) return connect(connectOptions(context, urls))
      const started = await start(context, name)
      context.onClose(() => started.stop())
      return connect(connectOptions(context, [started.url]))
    },
  })
}

export async function openGenerator({ config, ...given }: OpenGeneratorOptions): Promise<OpenedGenerator> {
  const { type } = config
  const definition = typeof type === 'string' ? generators[type] : type
  const ends: (() => Promise<void>)[] = []
  const endAll = async (): Promise<void> => {
    for (const end of ends.splice(0)) await end()
  }
  try {
    const options = ownOptions(definition, config, config.options)
    const generator = await definition.open({ ...given, options, onClose: end => ends.push(end) })
    // What was opened may be no generator.
    ends.unshift(async () => generator?.close?.())
    if (typeof type !== 'string')
      await tryGenerator(generator, { what: described(type), vocabSize: given.actor.vocabSize, signal: given.signal })
    const close = async (): Promise<void> => {
      try {
        await ends.shift()?.()
      } finally {
        await endAll()
      }
    }
    return { generator, close }
  } catch (error) {
    await endAll()
    throw error
  }
}

/** Assume prompts as long as responses, which fits most data. */
function localOptions({
  options: { maxInFlight },
  actor,
  rollout,
}: GeneratorContext<z.output<typeof localSchema>>): LocalEngineOptions {
  const { device, dtype } = actor
  const given = maxInFlight === undefined ? {} : { maxSequences: maxInFlight }
  if (device === 'cpu') return given
  const { samples, maxNewTokens, promptMaxLen = maxNewTokens } = rollout
  const tokensPerSample = maxNewTokens + Math.min(promptMaxLen, maxNewTokens)
  const cacheBytes = generationCacheShare * deviceMemory.freeBytes(device)
  const maxSequences = sequencesAtOnce(actor.config.decoder, { samples, tokensPerSample, cacheBytes, dtype })
  return { maxSequences, cacheShare: generationCacheShare, ...given }
}

type ServerContext = GeneratorContext<z.output<typeof serverSchema>>
type ConnectOptions = Parameters<typeof connectVllm>[0] & Parameters<typeof connectSglang>[0]

function connectOptions(
  { options: config, actor, model, tokenizer, onEvent, signal }: ServerContext,
  urls: readonly string[],
): ConnectOptions {
  const { maxInFlight, requestMinutes, patienceMinutes, servedModelName, tolerance } = config
  const { weightsDirectory, serverWeightsDirectory: seen } = config
  const apiKey = keyOf(config)
  return {
    urls,
    vocabSize: actor.vocabSize,
    ...(actor.config.decoder.vision ? { vision: actor.config.decoder.vision } : {}),
    tokenizer,
    modelDirectory: model,
    requestTimeoutMs: Math.round(requestMinutes * 60_000),
    patienceMs: Math.round(patienceMinutes * 60_000),
    version: actor.version,
    onEvent,
    signal,
    ...(maxInFlight === undefined ? {} : { maxInFlight }),
    ...(servedModelName === undefined ? {} : { model: servedModelName }),
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(tolerance === undefined ? {} : { proofTolerance: tolerance }),
    ...(seen === undefined ? {} : { serverPath: path => join(seen, relative(weightsDirectory!, path)) }),
  }
}

async function start(context: ServerContext, type: 'vllm' | 'sglang'): Promise<StartedEngine> {
  const { options: config, actor, model, loraRank, sleep, logDirectory, report, signal } = context
  const { command, flags } = config
  const apiKey = keyOf(config)
  const working = report.live()
  try {
    return await startEngine({
      type,
      model,
      flags,
      signal,
      sleep,
      dtype: actor.dtype,
      ...(actor.device === 'cpu' ? { device: 'cpu' } : {}),
      onProgress: ({ seconds, lastLine }) =>
        working.show({ at: `starting ${type}, ${seconds.toFixed(0)} s`, details: [lastLine] }),
      ...(command === undefined ? {} : { command: [command] }),
      ...(apiKey === undefined ? {} : { apiKey }),
      ...(loraRank === undefined ? {} : { loraRank }),
      ...(logDirectory === undefined ? {} : { logFile: join(logDirectory, `${type}.log`) }),
    })
  } finally {
    working.end()
  }
}
