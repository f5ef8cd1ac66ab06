/** What a local engine can be told. */
import type { Tokenizer } from '../../text/index.js'
import type { DeviceMemory } from './kv-budget.js'

export interface LocalEngineOptions {
  /** For stop strings and text. Its stop ids end responses, unless `eosIds` says otherwise. */
  tokenizer?: Tokenizer
  /** Tokens that end a response; the first is the one that needs no mention as a stop reason. */
  eosIds?: readonly number[]
  /**
   * Memory for keys and values, taken when the engine is made and at every `wake`; less where sequences cannot fill it. Default
   * 1 GiB, on CUDA a `cacheShare` of two fifths.
   */
  cacheBytes?: number
  /** Instead of a size: a share of the device's memory that is free at that time. */
  cacheShare?: number
  /** Who says what is free. Default: the device. */
  memory?: DeviceMemory
  /** Sequences that generate at once. Default 128, on CUDA 256. */
  maxSequences?: number
  /** Tokens of a sequence. Default: the model's context. */
  maxLength?: number
  /**
   * Tokens of prompts in a step, which come beside the next tokens of others; only a longer prompt is divided. Default 1024, on
   * CUDA 32,768.
   */
  tokenBudget?: number
  /**
   * `exchangeable`: adapters may be put over the weights and taken off again; see `LocalEngine.useAdapter`. Takes the memory of
   * another copy of the layers' matrices. Default `none`: the model's own, where it has one.
   */
  adapters?: 'none' | 'exchangeable'
}
