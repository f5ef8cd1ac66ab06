import type { ConversationExample, ExampleSet, ExampleStream, PromptExample } from '../../data/index.js'
import type { FastExperienceMaker } from '../../experience/index.js'
import type { TokenModel } from '../../model/index.js'
import type { Generator } from '../../rollout/index.js'

/** A moving average of the policy. */
export interface PolicyAverage {
  readonly model: TokenModel<'language'>
  /** Moves it towards the policy of now. */
  follow(): Promise<void>
}

/** What a run is made of. */
export interface RlParts {
  readonly actor: TokenModel<'language'>
  /** Of the actor's computation. */
  readonly dtype: string
  readonly critic: TokenModel<'value'> | undefined
  readonly ema: PolicyAverage | undefined
  readonly generator: Generator
  /** Gives the engine the policy's weights of now; returns when the next token is sampled from them. */
  readonly syncWeights: () => Promise<void>
  readonly maker: FastExperienceMaker
  readonly prompts: ExampleStream<PromptExample>
  readonly heldOut: ExampleSet<PromptExample> | undefined
  readonly ptx: ExampleStream<ConversationExample> | undefined
}
