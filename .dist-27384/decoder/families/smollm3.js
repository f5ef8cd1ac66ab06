import { z } from 'zod';
import { ModelError } from '../errors.js';
import { count, expected, readFields } from '../fields.js';
const ropeFields = z.object({
    no_rope_layers: z.array(z.literal([0, 1, true, false], expected('0 or 1'))).nullish(),
    no_rope_layer_interval: count.nullish(),
});
/** SmolLM3: as Llama, except that every fourth layer does not rotate queries and keys. */
export const smollm3 = {
    modelType: 'smollm3',
    className: 'SmolLM3',
    norms: { place: 'before', attention: 'input_layernorm', mlp: 'post_attention_layernorm' },
    qkNorm: 'none',
    biases: { qkv: 'config', output: 'config' },
    slidingWindow: 'switched',
    defaults: { kvHeads: 4, normEps: 1e-6, ropeTheta: 2000000, tiedEmbeddings: true },
    /** Despite its name, a 1 in `no_rope_layers` means that the layer does rotate. */
    ropeLayers(raw, { file, layers }) {
        const { no_rope_layers: listed, no_rope_layer_interval: interval } = readFields(ropeFields, raw, file);
        if (!listed)
            return Array.from({ length: layers }, (_, i) => (i + 1) % (interval ?? 4) !== 0);
        if (listed.length < layers)
            throw new ModelError(`${file}: no_rope_layers has ${listed.length} entries for ${layers} layers`);
        return listed.slice(0, layers).map(Boolean);
    },
    init: {
        attention_bias: false,
        mlp_bias: false,
        use_sliding_window: false,
        sliding_window: null,
        no_rope_layer_interval: 4,
        rms_norm_eps: 1e-6,
        rope_theta: 2000000,
    },
};
//# sourceMappingURL=smollm3.js.map