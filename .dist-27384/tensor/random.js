import { GeneratorRef } from './call.js';
import { parseDevice } from './dtype.js';
import { fromNative } from './errors.js';
import { native } from './native.js';
import { Tensor } from './tensor.js';
function asSeed(seed) {
    if (typeof seed === 'number' && !Number.isSafeInteger(seed))
        throw new RangeError(`a seed is an integer, got ${seed}`);
    return BigInt.asIntN(64, BigInt(seed));
}
/** Seeds the generators that operators use when they are given none, on every device. */
export function manualSeed(seed) {
    native.manualSeed(asSeed(seed));
}
const finalized = new FinalizationRegistry(generator => {
    native.releaseGenerator(generator);
});
/**
 * A stream of random numbers of its own.
 *
 * ```ts
 * const generator = new RandomGenerator({ seed: 7 })
 * const noise = randn([2, 3], { generator })
 * ```
 */
export class RandomGenerator extends GeneratorRef {
    device;
    constructor(options) {
        const device = options.device ?? 'cpu';
        const { type, index } = parseDevice(device);
        try {
            super(native.newGenerator(type, index, asSeed(options.seed)));
        }
        catch (thrown) {
            throw fromNative(thrown);
        }
        this.device = device;
        finalized.register(this, this.ref);
    }
    /** A copy of its state, to continue the stream from here later. The caller disposes it. */
    state() {
        try {
            return Tensor.adopt(native.generatorState(this.ref));
        }
        catch (thrown) {
            throw fromNative(thrown);
        }
    }
    setState(state) {
        try {
            native.generatorState(this.ref, state.ref);
        }
        catch (thrown) {
            throw fromNative(thrown);
        }
    }
    dispose() {
        native.releaseGenerator(this.ref);
        this.ref = 0;
    }
    [Symbol.dispose]() {
        this.dispose();
    }
}
//# sourceMappingURL=random.js.map