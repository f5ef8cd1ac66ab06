/** The weights of an engine without training: replaced from disk while requests are in flight, offloaded and reloaded. */
import { Adapter, type LocalModel } from '../../model/index.js'
import type { LocalEngine } from './engine.js'

export class ReplaceableWeights {
  constructor(
    private readonly model: LocalModel<'language'>,
    private readonly engine: LocalEngine,
  ) {}

  /** Whether the engine was made with `adapters: 'exchangeable'`. */
  get takesAdapters(): boolean {
    return this.engine.exchangesAdapters
  }

  /** Why nothing can be generated: only a part of a directory was read. */
  get broken(): string | undefined {
    return this.model.broken
  }

  /** Loads other weights; requests in flight go on with them. A directory that does not fit leaves the old weights. */
  async reload(directory: string): Promise<void> {
    await this.engine.pause()
    try {
      await this.model.loadWeights(directory)
    } finally {
      this.engine.resume()
    }
  }

  /** Reads an adapter in PEFT's format. The caller disposes it. */
  readAdapter(directory: string): Promise<Adapter> {
    const { dtype, device, config } = this.model
    return Adapter.load(directory, config.decoder, { dtype, device })
  }

  /** Uses an adapter from the next token on; undefined: none. */
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
