/** What some metrics were at first, at last, and at best, over the steps added. */
export class MetricSummaries {
    #all = new Map();
    #names;
    /** Those to keep, in the order of the table, each with which value is better. */
    constructor(names) {
        this.#names = names;
    }
    add(values) {
        for (const [name, better] of Object.entries(this.#names)) {
            const value = values[name];
            if (value === undefined)
                continue;
            const { first = value, best = value } = this.#all.get(name) ?? {};
            const now = better === 'higher' ? Math.max(best, value) : Math.min(best, value);
            this.#all.set(name, { first, last: value, ...(better === 'neither' ? {} : { best: now }) });
        }
    }
    get all() {
        const names = Object.keys(this.#names).filter(name => this.#all.has(name));
        return Object.fromEntries(names.map(name => [name, this.#all.get(name)]));
    }
}
/**
 * Shows a training's steps through a command's report: a line in place on a terminal, whole lines from time to time in a log.
 *
 * @example
 * const progress = trainProgress(reportFor(process.env), { label: 'sft', totalSteps: 100, shown: ['loss/train'] })
 * progress.step(1, { 'loss/train': 2.3 })
 * progress.end({ 'loss/train': { first: 2.3, last: 0.4 } })
 */
export function trainProgress(report, options) {
    const { label, totalSteps, shown, now = Date.now } = options;
    const line = report.live();
    const known = {};
    // The pace counts from the end of the first step, which pays for what is made once.
    let start;
    return {
        step(step, values) {
            Object.assign(known, values);
            start ??= { step, time: now() };
            const done = step - start.step;
            const left = done > 0 ? ((now() - start.time) / done) * (totalSteps - step) : undefined;
            const parts = shown.flatMap(name => (known[name] === undefined ? [] : [shownMetric(name, known[name])]));
            const time = left === undefined || step >= totalSteps ? [] : [`${duration(left / 1000)} left`];
            line.show([`${label} ${step}/${totalSteps}`, ...parts, ...time].join('  '));
        },
        note: text => report.line(text),
        stage: text => line.doing(text),
        end(summary) {
            line.end();
            for (const row of summaryTable(summary))
                report.line(row);
        },
    };
}
const words = {
    'loss/train': 'loss',
    'loss/validation': 'validation loss',
    'kl/mean': 'KL',
    lr: 'lr',
};
function shownMetric(name, value) {
    if (name === 'speed/tokens_per_second')
        return `${Math.round(value).toLocaleString('en')} tokens/s`;
    return `${words[name] ?? name.replace(/\/mean$/, '').replaceAll(/[/_]/g, ' ')} ${significant(value)}`;
}
/** Four digits: what a person compares. */
function significant(value) {
    return Number.isFinite(value) ? String(Number(value.toPrecision(4))) : String(value);
}
/** `8 s`, `3 min`, `2 h 5 min`, `3 d 4 h`: two units at most. */
export function duration(seconds) {
    const minutes = Math.round(seconds / 60);
    if (seconds < 99.5)
        return `${Math.max(0, Math.round(seconds))} s`;
    if (minutes < 100)
        return `${minutes} min`;
    const hours = Math.floor(minutes / 60);
    if (hours < 48)
        return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
    return hours % 24 === 0 ? `${hours / 24} d` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}
/** Of how the work went, not of what came of it. */
const background = /^(lr|data|seconds|memory|speed)(\/|$)/;
/** A header and a row for each metric that says what came of a training; the column of best values is there where one has it. Empty where there is no metric. */
export function summaryTable(summary) {
    const metrics = Object.entries(summary).filter(([name]) => !background.test(name));
    if (metrics.length === 0)
        return [];
    const withBest = metrics.some(([, { best }]) => best !== undefined);
    const rows = [
        ['', 'first', 'last', ...(withBest ? ['best'] : [])],
        ...metrics.map(([name, { first, last, best }]) => [
            name,
            significant(first),
            significant(last),
            ...(withBest ? [best === undefined ? '' : significant(best)] : []),
        ]),
    ];
    const widths = rows[0].map((_, i) => Math.max(...rows.map(row => row[i].length)));
    return rows.map(row => `  ${row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join('  ')}`.trimEnd());
}
//# sourceMappingURL=progress.js.map