/** Rotary positions: a config's frequencies, and the tables of their cosines and sines. */
import { arange, type Device, scope, Tensor } from '../tensor/index.js'
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

/** `[positions, headDim / 2]` each, float32: angles are computed in float32, as transformers does. */
export function ropeTables(config: RopeConfig, positions: number, device: Device): { cos: Tensor; sin: Tensor } {
  return scope(() => {
    const frequencies = Tensor.from(inverseFrequencies(config), { device })
    const angles = arange(0, positions, 1, { dtype: 'float32', device }).unsqueeze(1).mul(frequencies)
    return { cos: angles.cos(), sin: angles.sin() }
  })
}
