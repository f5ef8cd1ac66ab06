import type { z } from 'zod'
import { type Definition, define, isDefinition } from '../../maths/index.js'
import type { LocalModel } from '../../model/index.js'
import type { Report } from '../../progress/index.js'
import type { EngineEvent, Generator } from '../../rollout/index.js'
import type { Tokenizer } from '../../text/index.js'
import type { LoadedModel } from './load-model.js'

interface RolloutSize {
  readonly samples: number
  readonly maxNewTokens: number
  readonly promptMaxLen?: number | undefined
}

/** What a generator is opened with. */
export interface GeneratorContext<Options = unknown> {
  readonly options: Options
  /** The policy. An engine in this process samples from its weights; servers must agree with them. */
  readonly actor: LocalModel<'language'>
  /** The policy with its copies on other ranks, where there are any. Default: `actor`. */
  readonly policy?: LoadedModel<'language'> | undefined
  /** The directory it was loaded from. */
  readonly model: string
  readonly tokenizer: Tokenizer
  /** What is generated at a time. */
  readonly rollout: RolloutSize
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
  /** What has to be ended after the generator was closed, or where it cannot be opened. */
  readonly onClose: (end: () => Promise<void>) => void
}

export interface GeneratorDefinition<Options extends z.ZodObject = z.ZodObject> extends Definition<'generator'> {
  readonly options: Options
  open(context: GeneratorContext<z.output<Options>>): Generator | Promise<Generator>
}

/**
 * What generates the samples of a run: any implementation of `Generator`.
 *
 * @example
 * export default defineGenerator({
 *   name: 'few-at-once',
 *   description: 'the engine of this process, with few samples at a time',
 *   options: z.object({ samples: z.int().min(1).default(8).describe('samples that generate at the same time') }),
 *   open: ({ actor, tokenizer, options }) => new LocalEngine(actor, { tokenizer, maxSequences: options.samples }),
 * })
 */
export function defineGenerator<Options extends z.ZodObject>(
  parts: Pick<GeneratorDefinition<Options>, 'name' | 'description' | 'options' | 'open'>,
): GeneratorDefinition<Options> {
  if (typeof parts.open !== 'function') throw new TypeError(`generator "${parts.name}": it needs a function open`)
  return define({ defines: 'generator', ...parts })
}

export function isGenerator(value: unknown): value is GeneratorDefinition {
  return isDefinition(value, 'generator')
}
