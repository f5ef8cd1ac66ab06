/** Statistics of the micro-batches of one update, as one. A statistic that a part does not have is left out of it. */
export function mergeStatistics(parts, merging) {
    const merged = {};
    for (const key of Object.keys(merging)) {
        const having = parts.filter(part => part[key] !== undefined);
        const values = having.map(part => part[key]);
        const way = merging[key];
        if (way === 'sum')
            merged[key] = sum(values);
        else if (values.length === 0)
            continue;
        else if (way === 'max')
            merged[key] = values.reduce((a, b) => Math.max(a, b));
        else {
            const counts = having.map(part => part[way]);
            merged[key] = share(sum(values.map((value, i) => value * counts[i])), sum(counts));
        }
    }
    return merged;
}
/** Of nothing, the mean is 0: a log has no place for NaN. */
export const share = (part, whole) => (whole === 0 ? 0 : part / whole);
const sum = (values) => values.reduce((a, b) => a + b, 0);
//# sourceMappingURL=statistics.js.map