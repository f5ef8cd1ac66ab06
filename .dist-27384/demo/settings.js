const context = 64;
export const fullSettings = {
    digits: 4,
    heldOutPrompts: 100,
    shape: { hidden: 64, intermediate: 192, layers: 2, heads: 4, kvHeads: 4, headDim: 16, context, tied: true },
    sftSteps: 400,
    sftLr: 3e-3,
    rewardSteps: 400,
    iterations: 40,
    measureEvery: 10,
    samples: 8,
};
/** The same with less of everything: all stages in seconds. */
export const quickSettings = {
    digits: 3,
    heldOutPrompts: 40,
    shape: { hidden: 64, intermediate: 128, layers: 1, heads: 4, kvHeads: 4, headDim: 16, context, tied: true },
    sftSteps: 200,
    sftLr: 6e-3,
    rewardSteps: 160,
    iterations: 12,
    measureEvery: 6,
    samples: 8,
};
//# sourceMappingURL=settings.js.map