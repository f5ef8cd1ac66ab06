/** Opens the generator: the engine in this process, running servers, or a server started for the run. */
import { join, relative } from 'node:path'
import { type StartedEngine, startEngine } from '../../launch/index.js'
import type { LocalModel } from '../../model/index.js'
import type { Report } from '../../progress/index.js'
import {
  connectSglang,
  connectVllm,
  deviceMemory,
  type EngineEvent,
  type Generator,
  LocalEngine,
  type LocalEngineOptions,
  sequencesAtOnce,
} from '../../rollout/index.js'
import type { Tokenizer } from '../../text/index.js'
import { keyOf } from '../checks/check-generator.js'
import type { GeneratorConfig } from '../config/generator.js'

/** Training needs most of a GPU: its activations come and go next to the cache of the engine. */
export const generationCacheShare = 0.2

export interface OpenGeneratorOptions {
  readonly config: GeneratorConfig
  /** Whose weights a local engine samples from; what servers must agree with. */
  readonly actor: LocalModel<'language'>
  /** What is generated at a time: a local engine on a GPU makes room for all of it. */
  readonly rollout: RolloutSize
  /** The directory it was loaded from: what a server is started with, and has the shapes of. */
  readonly model: string
  readonly tokenizer: Tokenizer
  /** The rank of the adapter that is trained: a server is started to load such ones. */
  readonly loraRank?: number | undefined
  /** Whether a server that is started shall be able to give its memory to models on the same card. */
  readonly sleep?: 'enabled' | undefined
  /** Where the log of a server that is started goes. Default: a directory of its own among the temporary ones. */
  readonly logDirectory?: string | undefined
  readonly report: Report
  readonly signal: AbortSignal
  /** Told what happens to servers. */
  readonly onEvent: (event: EngineEvent) => void
}

export interface RolloutSize {
  readonly samples: number
  readonly maxNewTokens: number
  readonly promptMaxLen?: number | undefined
}

export interface OpenedGenerator {
  readonly generator: Generator
  /** Ends it, and the server that was started. */
  close(): Promise<void>
}

export async function openGenerator(options: OpenGeneratorOptions): Promise<OpenedGenerator> {
  const { config, actor, tokenizer } = options
  if (config.type === 'local') {
    const engine = new LocalEngine(actor, { tokenizer, ...localOptions(options) })
    return { generator: engine, close: () => engine.close() }
  }
  const started = config.urls ? undefined : await start(options, config.type)
  try {
    const generator = await connect(options, config.urls ?? [started!.url])
    const close = async (): Promise<void> => {
      try {
        await generator.close()
      } finally {
        await started?.stop()
      }
    }
    return { generator, close }
  } catch (error) {
    await started?.stop()
    throw error
  }
}

/** Assume prompts as long as responses, which fits most data. */
function localOptions({ config: { maxInFlight }, actor, rollout }: OpenGeneratorOptions): LocalEngineOptions {
  const { device, dtype } = actor
  const given = maxInFlight === undefined ? {} : { maxSequences: maxInFlight }
  if (device === 'cpu') return given
  const { samples, maxNewTokens, promptMaxLen = maxNewTokens } = rollout
  const tokensPerSample = maxNewTokens + Math.min(promptMaxLen, maxNewTokens)
  const cacheBytes = generationCacheShare * deviceMemory.freeBytes(device)
  const maxSequences = sequencesAtOnce(actor.config.decoder, { samples, tokensPerSample, cacheBytes, dtype })
  return { maxSequences, cacheShare: generationCacheShare, ...given }
}

function connect(
  { config, actor, model, tokenizer, onEvent, signal }: OpenGeneratorOptions,
  urls: readonly string[],
): Promise<Generator> {
  const { type, maxInFlight, requestMinutes, patienceMinutes, servedModelName, tolerance } = config
  const { weightsDirectory, serverWeightsDirectory: seen } = config
  const apiKey = keyOf(config)
  const open = type === 'vllm' ? connectVllm : connectSglang
  return open({
    urls,
    vocabSize: actor.vocabSize,
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
  })
}

async function start(options: OpenGeneratorOptions, type: 'vllm' | 'sglang'): Promise<StartedEngine> {
  const { config, actor, model, loraRank, sleep, logDirectory, report, signal } = options
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
      onProgress: ({ seconds, lastLine }) => working.show(`starting ${type}, ${seconds.toFixed(0)} s: ${lastLine}`),
      ...(command === undefined ? {} : { command: [command] }),
      ...(apiKey === undefined ? {} : { apiKey }),
      ...(loraRank === undefined ? {} : { loraRank }),
      ...(logDirectory === undefined ? {} : { logFile: join(logDirectory, `${type}.log`) }),
    })
  } finally {
    working.end()
  }
}
