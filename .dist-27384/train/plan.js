/** The plan of a training on rows: one model that learns, and perhaps a reference that does not. */
export function planRows(config, options) {
    const { kind, role, reference, sequencesPerRow } = options;
    const { model, data, lora, adapter, batchSize, freezeBackbone = false } = config;
    const { device, dtype, chatTemplate, gradientCheckpointing, tokenBudget, maxLength, seed } = config;
    const trained = freezeBackbone ? 'head' : lora || adapter !== undefined ? 'adapter' : 'weights';
    const first = { name: 'the model', option: 'model', directory: model, role, trained, computes: 'yes' };
    const others = reference === undefined
        ? []
        : [
            {
                name: 'the reference',
                option: 'reference',
                directory: reference,
                role: 'language',
                trained: 'nothing',
                computes: 'yes',
            },
        ];
    return {
        models: [{ ...first, adapter: adapter ?? lora }, ...others],
        data: [{ option: 'data', kind, spec: data, options: config }],
        device,
        dtype,
        chatTemplate,
        gradientCheckpointing,
        tokenBudget,
        maxLength,
        sequences: batchSize * sequencesPerRow,
        seed,
    };
}
//# sourceMappingURL=plan.js.map