import type { ConversationExample, ExampleSet, ExampleStream, PromptExample } from '../../data/index.js'
import type { FastExperienceMaker, Turns } from '../../experience/index.js'
import type { MediaStore } from '../../media/index.js'
import type { TokenModel } from '../../model/index.js'
import type { Generator } from '../../rollout/index.js'

/** A moving average of the policy. */
interface PolicyAverage {
  readonly model: TokenModel<'language'>
  /** Moves it towards the current policy. */
  follow(): Promise<void>
}

/** The parts of a run. */
export interface RlParts {
  readonly actor: TokenModel<'language'>
  /** Of the actor's computation. */
  readonly dtype: string
  readonly critic: TokenModel<'value'> | undefined
  readonly ema: PolicyAverage | undefined
  readonly generator: Generator
  /** Pushes the current weights of the policy to the engine; resolves when the next token is sampled from them. */
  readonly syncWeights: () => Promise<void>
  readonly maker: FastExperienceMaker
  /** Where the run keeps the images and videos of its prompts; undefined for models of text. */
  readonly media?: MediaStore | undefined
  /** Who has the device when. */
  readonly turns: Turns
  readonly prompts: ExampleStream<PromptExample>
  readonly heldOut: ExampleSet<PromptExample> | undefined
  readonly ptx: ExampleStream<ConversationExample> | undefined
}
