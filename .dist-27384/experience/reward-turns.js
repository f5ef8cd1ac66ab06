/** Whether it is a model that can leave its device to others. */
export function isResident(model) {
    return typeof model === 'object' && model !== null && 'offload' in model && 'reload' in model;
}
/** The models that rewards ask. */
export function modelsOfRewards({ rewardModel, sources = [] }) {
    return [...listed(rewardModel), ...sources].map(({ model }) => model);
}
/** The same rewards, each of whose models is asked when it is its turn. */
export function rewardsInTurns(rewards, turns) {
    const { rewardModel, sources } = rewards;
    return {
        ...rewards,
        ...(rewardModel ? { rewardModel: modelsInTurns(rewardModel, turns) } : {}),
        ...(sources ? { sources: sources.map(source => sourceInTurns(source, turns)) } : {}),
    };
}
function sourceInTurns(source, turns) {
    const { model } = source;
    if (!isResident(model))
        return source;
    return { ...source, score: (items, options) => turns.use(model, () => source.score(items, options)) };
}
function modelsInTurns(given, turns) {
    const wrap = (entry) => ({
        ...entry,
        model: {
            ...(entry.model.maxLength === undefined ? {} : { maxLength: entry.model.maxLength }),
            score: (sequences, options) => {
                const work = () => entry.model.score(sequences, options);
                return isResident(entry.model) ? turns.use(entry.model, work) : work();
            },
        },
    });
    if (Array.isArray(given))
        return given.map(wrap);
    if (isSingle(given))
        return wrap(given);
    return Object.fromEntries(Object.entries(given).map(([name, one]) => [name, wrap(one)]));
}
function listed(given) {
    if (given === undefined)
        return [];
    if (Array.isArray(given))
        return given;
    return isSingle(given) ? [given] : Object.values(given);
}
function isSingle(given) {
    return 'model' in given && 'tokenizer' in given;
}
//# sourceMappingURL=reward-turns.js.map