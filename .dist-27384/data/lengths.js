export function summarizeLengths(lengths) {
    const sorted = lengths.toSorted();
    const count = sorted.length;
    if (count === 0)
        return { count, min: 0, median: 0, mean: 0, p95: 0, max: 0, bins: [] };
    const at = (share) => sorted[Math.min(count - 1, Math.floor(share * count))];
    const mean = sorted.reduce((sum, length) => sum + length, 0) / count;
    const bins = [];
    for (const length of sorted) {
        const from = length === 0 ? 0 : 2 ** Math.floor(Math.log2(length));
        let last = bins.at(-1);
        while (last && last.from < from) {
            const next = last.to + 1;
            last = { from: next, to: 2 * next - 1, count: 0 };
            bins.push(last);
        }
        if (!last) {
            last = { from, to: Math.max(0, 2 * from - 1), count: 0 };
            bins.push(last);
        }
        last.count++;
    }
    return { count, min: sorted[0], median: at(0.5), mean, p95: at(0.95), max: sorted[count - 1], bins };
}
//# sourceMappingURL=lengths.js.map