/** The weights of an engine without training: replaced from disk while requests are in flight, offloaded and reloaded. */
import { Adapter, type LocalModel } from '../../model/index.js'
import type { LocalEngine } from './engine.js'

export class ReplaceableWeights {
  constructor(
    private readonly model: LocalModel<'language'>,
    private readonly engine: LocalEngine,
  ) {}

  /** Whether the engine has room for adapters. */
  get takesAdapters(): boolean {
    return this.engine.exchangesAdapters
  }

  /** Why nothing can be generated: a directory was read half. */
  get broken(): string | undefined {
    return this.model.broken
  }

  /** Requests in flight wait, and go on with the new weights. A directory that does not fit leaves the old ones. */
  async reload(directory: string): Promise<void> {
    await this.engine.pause()
    try {
      await this.model.loadWeights(directory)
    } finally {
      this.engine.resume()
    }
  }

  /** An adapter in PEFT's format, to be used now and then; the caller disposes it. */
  readAdapter(directory: string): Promise<Adapter> {
    const { dtype, device, config } = this.model
    return Adapter.load(directory, config.decoder, { dtype, device })
  }

  /** What is sampled from the next token on; undefined: the weights without an adapter. */
  useAdapter(adapter: Adapter | undefined): Promise<void> {
    return this.engine.useAdapter(adapter)
  }

  /** Moves the weights off their device, while the engine sleeps. */
  offload(): Promise<void> {
    return this.model.offload()
  }

  restore(): Promise<void> {
    return this.model.reload()
  }
}
