export function summarizeRewards(outcomes) {
    const scored = outcomes.filter(outcome => outcome.kind === 'scored');
    const failed = outcomes.filter(outcome => outcome.kind === 'failed');
    return {
        scored: scored.length,
        failed: failed.length,
        reward: statistics(scored.map(({ reward }) => reward)),
        components: byName(scored.map(({ components }) => components)),
        metrics: byName(scored.map(({ metrics }) => metrics)),
        failuresByReason: countBy(failed.map(({ reason }) => reason)),
        failuresBySource: countBy(failed.map(({ source }) => source)),
    };
}
export function statistics(values) {
    if (values.length === 0)
        return undefined;
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
    const [min, max] = values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [
        values[0],
        values[0],
    ]);
    return { count: values.length, mean, std: values.length > 1 ? Math.sqrt(squares / (values.length - 1)) : 0, min, max };
}
function byName(records) {
    const lists = new Map();
    for (const record of records) {
        for (const [name, value] of Object.entries(record)) {
            const list = lists.get(name) ?? [];
            list.push(value);
            lists.set(name, list);
        }
    }
    return Object.fromEntries([...lists].map(([name, values]) => [name, statistics(values)]));
}
function countBy(keys) {
    const counts = {};
    for (const key of keys)
        counts[key] = (counts[key] ?? 0) + 1;
    return counts;
}
//# sourceMappingURL=summary.js.map