/** The engines of one rank by name, each over a copy of a model, and the commands that reach them. */
import type { LocalModel, PolicyVersion } from '../model/index.js'
import {
  type EngineCounts,
  type GenerationRequest,
  LocalEngine,
  type LocalEngineOptions,
  type Outcome,
  type TokenEvent,
} from '../rollout/index.js'
import { Tokenizer } from '../text/index.js'
import { packValue, unpackValue } from './packed-value.js'
import type { Handlers } from './peer.js'
import type { RankModels } from './rank-models.js'

/** How a rank opens its engine: options of an engine that are data. */
export interface EngineOpening {
  readonly engine: string
  /** The name of the model whose copy it samples from. */
  readonly model: string
  /** Of the tokenizer, which every machine has under the same path. */
  readonly tokenizer?: string | undefined
  readonly options: Omit<LocalEngineOptions, 'tokenizer' | 'memory' | 'adapters'>
}

export interface GenerateCommand {
  readonly engine: string
  readonly request: GenerationRequest
  readonly tokens: boolean
}

/** A part of what a rank generates, with what its engine has done so far. */
export interface Generated {
  readonly counts: EngineCounts
  readonly outcome?: Outcome
  readonly token?: TokenEvent
}

export type EngineCommand = { readonly engine: string } & (
  | { readonly do: 'updateWeights'; readonly version: PolicyVersion }
  | { readonly do: 'release'; readonly session: string }
  | { readonly do: 'pause' | 'resume' | 'sleep' | 'wake' | 'close' }
)

export class RankEngines {
  private readonly engines = new Map<string, LocalEngine>()

  constructor(private readonly models: Pick<RankModels, 'get'>) {}

  async close(): Promise<void> {
    for (const engine of this.engines.values()) await engine.close()
    this.engines.clear()
  }

  readonly handlers: Handlers = {
    'engine.open': async ({ body }) => {
      const { engine, model, tokenizer, options } = body as EngineOpening
      const text = tokenizer === undefined ? {} : { tokenizer: await Tokenizer.load(tokenizer) }
      const made = new LocalEngine(this.models.get(model) as unknown as LocalModel<'language'>, { ...options, ...text })
      this.engines.set(engine, made)
      return { body: made.maxSequences }
    },
    'engine.generate': async ({ body, arrays, signal, send }) => {
      const { engine: name, request, tokens } = unpackValue<GenerateCommand>({ body, arrays })
      const engine = this.get(name)
      const give = (generated: Omit<Generated, 'counts'>): void => {
        const part = packValue({ ...generated, counts: engine.counts })
        send(part.body, part.arrays)
      }
      const onToken = tokens ? { onToken: (token: TokenEvent) => give({ token }) } : {}
      await new Promise<void>((resolve, reject) => {
        let left = request.n ?? 1
        const onOutcome = (outcome: Outcome): void => {
          give({ outcome })
          if (--left === 0) resolve()
        }
        try {
          const abort = engine.submit(request, { onOutcome, ...onToken })
          if (signal.aborted) abort()
          else signal.addEventListener('abort', abort, { once: true })
        } catch (error) {
          reject(error)
        }
      })
      return {}
    },
    engine: async ({ body }) => {
      const command = body as EngineCommand
      const engine = this.get(command.engine)
      switch (command.do) {
        case 'updateWeights':
          await engine.updateWeights({ version: command.version })
          break
        case 'release':
          engine.release(command.session)
          break
        case 'resume':
          engine.resume()
          break
        default:
          await engine[command.do]()
      }
      if (command.do === 'close') this.engines.delete(command.engine)
      return packValue(engine.counts)
    },
  }

  private get(name: string): LocalEngine {
    const found = this.engines.get(name)
    if (!found) throw new Error('the engine is closed')
    return found
  }
}
