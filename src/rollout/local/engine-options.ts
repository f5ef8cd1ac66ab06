/** Options of a local engine. */
import type { Tokenizer } from '../../text/index.js'
import type { DeviceMemory } from './kv-budget.js'

export interface LocalEngineOptions {
  /** Needed for stop strings and text. Its stop ids end responses, unless `eosIds` is given. */
  tokenizer?: Tokenizer
  /** Tokens that end a response; the first one gives no `stopReason`. */
  eosIds?: readonly number[]
  /**
   * Memory of the KV cache, allocated when the engine is made and at every `wake`; less where sequences cannot fill it. Default 1 GiB, on
   * CUDA a `cacheShare` of 0.4.
   */
  cacheBytes?: number
  /** Instead of `cacheBytes`: a share of the device's free memory at that time. */
  cacheShare?: number
  /** Reports free memory. Default: the device. */
  memory?: DeviceMemory
  /** Most concurrent sequences. Default 128, on CUDA 256. */
  maxSequences?: number
  /** Most tokens of a sequence. Default: the model's context. */
  maxLength?: number
  /** Most prompt tokens in a step; only a longer prompt is split. Default 1024, on CUDA 32,768. */
  tokenBudget?: number
  /**
   * `exchangeable`: adapters can be loaded and exchanged; see `LocalEngine.useAdapter`. Needs memory for another copy of the layers'
   * matrices. Default `none`: only the model's own adapter, if any.
   */
  adapters?: 'none' | 'exchangeable'
}
