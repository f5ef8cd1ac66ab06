/** Rotary positions: a config's frequencies, and the tables of their cosines and sines. */
import { arange, ones, scope, Tensor, unscoped, zeros } from '../tensor/index.js';
function inverseFrequencies({ headDim, ropeTheta, ropeScaling }) {
    const frequencies = Float32Array.from({ length: headDim / 2 }, (_, i) => ropeTheta ** (-(2 * i) / headDim));
    if (!ropeScaling)
        return frequencies;
    // Llama 3.1: long wavelengths are stretched by `factor`, short ones kept, those between blended.
    const { factor, lowFreqFactor, highFreqFactor, originalContext } = ropeScaling;
    return frequencies.map(frequency => {
        const wavelength = (2 * Math.PI) / frequency;
        if (wavelength < originalContext / highFreqFactor)
            return frequency;
        if (wavelength > originalContext / lowFreqFactor)
            return frequency / factor;
        const smooth = (originalContext / wavelength - lowFreqFactor) / (highFreqFactor - lowFreqFactor);
        return (1 - smooth) * (frequency / factor) + smooth * frequency;
    });
}
/** Angles are computed in float32, as transformers does. */
export function ropeTables(config, positions, device) {
    return scope(() => {
        const frequencies = Tensor.from(inverseFrequencies(config), { device });
        const angles = arange(0, positions, 1, { dtype: 'float32', device }).unsqueeze(1).mul(frequencies);
        return { cos: angles.cos(), sin: angles.sin() };
    });
}
/** Whether the layer's queries and keys are rotated by position. */
export function usesRope({ ropeLayers }, layer) {
    return ropeLayers === 'all' || ropeLayers[layer];
}
/** A context of 16 million tokens with heads of 128: what is larger is a mistake in a config. */
const mostTableBytes = 2 ** 33;
/** Tables for kernels that always rotate: a layer that does not is given those that turn by nothing. */
export class LayerRopeTables {
    config;
    rotating;
    still;
    constructor(config, positions, device) {
        this.config = config;
        const shape = [positions, config.headDim / 2];
        const bytes = positions * config.headDim * 4;
        if (bytes > mostTableBytes)
            throw new RangeError(`rotations of ${positions} positions take ${(bytes / 1e9).toFixed(1)} GB; give the engine a smaller maxLength`);
        this.rotating = unscoped(() => ropeTables(config, positions, device));
        this.still =
            config.ropeLayers === 'all' || config.ropeLayers.every(Boolean)
                ? undefined
                : unscoped(() => ({ cos: ones(shape, { device }), sin: zeros(shape, { device }) }));
    }
    of(layer) {
        return usesRope(this.config, layer) ? this.rotating : this.still;
    }
    dispose() {
        for (const tables of [this.rotating, this.still]) {
            tables?.cos.dispose();
            tables?.sin.dispose();
        }
    }
}
//# sourceMappingURL=rope.js.map