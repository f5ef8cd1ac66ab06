/** Rotary positions: a config's frequencies, and the tables of their cosines and sines. */
import { arange, type Device, ones, scope, Tensor, unscoped, zeros } from '../tensor/index.js'
import type { DecoderConfig } from './config.js'

type RopeConfig = Pick<DecoderConfig, 'headDim' | 'ropeTheta' | 'ropeScaling'>

function inverseFrequencies({ headDim, ropeTheta, ropeScaling }: RopeConfig): Float32Array {
  const frequencies = Float32Array.from({ length: headDim / 2 }, (_, i) => ropeTheta ** (-(2 * i) / headDim))
  if (!ropeScaling) return frequencies
  // Llama 3.1: long wavelengths are stretched by `factor`, short ones kept, those between blended.
  const { factor, lowFreqFactor, highFreqFactor, originalContext } = ropeScaling
  return frequencies.map(frequency => {
    const wavelength = (2 * Math.PI) / frequency
    if (wavelength < originalContext / highFreqFactor) return frequency
    if (wavelength > originalContext / lowFreqFactor) return frequency / factor
    const smooth = (originalContext / wavelength - lowFreqFactor) / (highFreqFactor - lowFreqFactor)
    return (1 - smooth) * (frequency / factor) + smooth * frequency
  })
}

/** Cosines and sines of each position, float32 `[positions, headDim / 2]`. */
interface RopeTables {
  cos: Tensor
  sin: Tensor
}

/** Angles are computed in float32, as transformers does. */
export function ropeTables(config: RopeConfig, positions: number, device: Device): RopeTables {
  return scope(() => {
    const frequencies = Tensor.from(inverseFrequencies(config), { device })
    const angles = arange(0, positions, 1, { dtype: 'float32', device }).unsqueeze(1).mul(frequencies)
    return { cos: angles.cos(), sin: angles.sin() }
  })
}

/** Whether the layer's queries and keys are rotated by position. */
export function usesRope({ ropeLayers }: Pick<DecoderConfig, 'ropeLayers'>, layer: number): boolean {
  return ropeLayers === 'all' || ropeLayers[layer]!
}

/** A context of 16 million tokens with heads of 128: what is larger is a mistake in a config. */
const mostTableBytes = 2 ** 33

/** Tables for kernels that always rotate: a layer that does not is given those that turn by nothing. */
export class LayerRopeTables {
  private readonly rotating: RopeTables
  private readonly still: RopeTables | undefined

  constructor(
    private readonly config: DecoderConfig,
    positions: number,
    device: Device,
  ) {
    const shape = [positions, config.headDim / 2]
    const bytes = positions * config.headDim * 4
    if (bytes > mostTableBytes)
      throw new RangeError(
        `rotary tables of ${positions} positions need ${(bytes / 1e9).toFixed(1)} GB; lower maxLength of the engine`,
      )
    this.rotating = unscoped(() => ropeTables(config, positions, device))
    this.still =
      config.ropeLayers === 'all' || config.ropeLayers.every(Boolean)
        ? undefined
        : unscoped(() => ({ cos: ones(shape, { device }), sin: zeros(shape, { device }) }))
  }

  of(layer: number): RopeTables {
    return usesRope(this.config, layer) ? this.rotating : this.still!
  }

  dispose(): void {
    for (const tables of [this.rotating, this.still]) {
      tables?.cos.dispose()
      tables?.sin.dispose()
    }
  }
}
