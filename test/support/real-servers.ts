/** Tiny models that our own `init` wrote, what they say by our own engine, and a real server for them. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type EngineType, type StartEngineOptions, type StartedEngine, startEngine } from '../../src/launch/index.js'
import { initModel, LocalModel, newConfig, parseConfig } from '../../src/model/index.js'
import type { GenerationRequest, Generator, Outcome, Sample, WeightsProof } from '../../src/rollout/index.js'
import { LocalEngine } from '../../src/rollout/local/engine.js'
import { embeddingRows, Tokenizer } from '../../src/text/index.js'
import { completed, numbers, randomIds } from './generation.js'

export const context = 256
/** For what must happen at some time: deadlines are for what hangs, not for a machine with much else to do. */
export const patiently = { timeout: 600_000, interval: 50 }
export const startMs = 1_500_000
const tokenizerDirectory = new URL('../fixtures/tokenizer/', import.meta.url).pathname
const shape = { hidden: 64, intermediate: 128, layers: 2, heads: 2, kvHeads: 1, headDim: 32, context }

/** A model, and our own engine over it to compare with. */
export interface TinyModel {
  readonly directory: string
  readonly model: LocalModel<'language'>
  /** Raw log-probabilities of the tokens from the second on; `temperature` divides the logits. */
  score(ids: ArrayLike<number>, temperature?: number): Promise<Float32Array>
  /** The likeliest tokens. */
  greedy(promptIds: Int32Array, count: number): Promise<number[]>
  proof(): Promise<WeightsProof>
  close(): Promise<void>
}

export interface AdapterModel extends TinyModel {
  /** In PEFT's format, over the model it was made from; `directory` has it merged. */
  readonly adapter: string
}

export class World {
  readonly folder = mkdtempSync(join(tmpdir(), 'whetstone-real-'))
  private readonly made: TinyModel[] = []
  private readonly engines: StartedEngine[] = []

  private constructor(readonly tokenizer: Tokenizer) {}

  static async make(): Promise<World> {
    return new World(await Tokenizer.load(tokenizerDirectory))
  }

  get vocabSize(): number {
    return embeddingRows(this.tokenizer)
  }

  async model(name: string, { seed, tied = false }: { seed: number; tied?: boolean }): Promise<TinyModel> {
    const { tokenizer } = this
    const tokens = { bos: tokenizer.bosId, eos: tokenizer.eosId, pad: tokenizer.padId }
    const { raw } = newConfig('qwen2', { ...shape, tied, vocabSize: this.vocabSize }, tokens)
    // Weights of a usual width would give every token nearly the same probability, which tells little.
    const config = parseConfig({ ...raw, initializer_range: 0.2 }, 'config.json')
    const out = join(this.folder, name)
    await initModel({ config, seed, dtype: 'float32', tokenizer: tokenizerDirectory, tokens, out })
    return this.keep(await LocalModel.load(out, { role: 'language' }), out)
  }

  /** An adapter that was trained away from nothing. */
  async adapter(name: string, base: TinyModel, seed: number): Promise<AdapterModel> {
    const options = { rank: 4, alpha: 8, dropout: 0, targets: ['q_proj', 'v_proj', 'down_proj'] as const, seed }
    const model = await LocalModel.load(base.directory, { role: 'language', adapter: options })
    await model.forwardBackward([randomIds(numbers(seed), 60, this.vocabSize)], outputs =>
      outputs.map(({ logprobs }) => ({ logprobs: new Float32Array(logprobs.length).fill(-1) })),
    )
    await model.step({ lr: 0.05 })
    const adapter = join(this.folder, `${name}-adapter`)
    const directory = join(this.folder, name)
    await model.export(adapter, { what: 'adapter' })
    await model.export(directory, { what: 'model' })
    return Object.assign(this.keep(model, directory), { adapter })
  }

  private keep(model: LocalModel<'language'>, directory: string): TinyModel {
    const engine = new LocalEngine(model)
    const score: TinyModel['score'] = async (ids, temperature = 1) =>
      (await model.score([Int32Array.from(ids)], { temperature }))[0]!.logprobs
    const proofIds = randomIds(numbers(77), 64, this.vocabSize)
    const one: TinyModel = {
      directory,
      model,
      score,
      greedy: async (promptIds, count) => [
        ...(await sampleOne(engine, promptIds, { temperature: 0, maxNewTokens: count, ignoreEos: true })).responseIds,
      ],
      proof: async () => ({ ids: proofIds, logprobs: await score(proofIds) }),
      close: async () => {
        await engine.close()
        model.dispose()
      },
    }
    this.made.push(one)
    return one
  }

  /** A real server on this machine's CPU. */
  async start(
    type: EngineType,
    { directory: model }: TinyModel,
    options: Partial<StartEngineOptions> = {},
  ): Promise<StartedEngine> {
    const logs = join(this.folder, 'logs')
    mkdirSync(logs, { recursive: true })
    const flags = type === 'vllm' ? ['--kv-cache-memory-bytes', `${2 ** 26}`, '--enable-prompt-tokens-details'] : []
    const engine = await startEngine({
      ...{ type, device: 'cpu', dtype: 'float32', maxLength: context, readyTimeoutMs: startMs },
      logFile: join(logs, `${type}-${this.engines.length}.log`),
      ...options,
      model,
      flags: [...flags, ...(options.flags ?? [])],
    })
    this.engines.push(engine)
    return engine
  }

  async close(): Promise<void> {
    for (const engine of this.engines) await engine.stop()
    for (const one of this.made) await one.close()
    rmSync(this.folder, { recursive: true, force: true })
  }
}

export const prompt = (seed: number, length = 12): Int32Array => randomIds(numbers(seed), length, 1900)

type Sampling = Partial<GenerationRequest['sampling']>

export const request = (
  id: string,
  { sampling, ...rest }: Partial<Omit<GenerationRequest, 'sampling'>> & { sampling?: Sampling } = {},
): GenerationRequest => ({
  id,
  promptIds: prompt(id.length),
  ...rest,
  sampling: { seed: 1, maxNewTokens: 24, ignoreEos: true, ...sampling },
})

export async function collect(stream: AsyncIterable<Outcome>): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  for await (const outcome of stream) outcomes.push(outcome)
  return outcomes
}

export async function samples(generator: Generator, requests: readonly GenerationRequest[]): Promise<Sample[]> {
  return (await collect(generator.generate(requests))).map(completed)
}

export async function sampleOne(generator: Generator, promptIds: Int32Array, sampling: Sampling): Promise<Sample> {
  return (await samples(generator, [request(`one-${Math.random()}`, { promptIds, sampling })]))[0]!
}

/** The largest difference of two rows of numbers. */
export function largestDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  if (a.length !== b.length) throw new Error(`${a.length} numbers and ${b.length}`)
  return Array.from(a).reduce((most, value, i) => Math.max(most, Math.abs(value - b[i]!)), 0)
}
