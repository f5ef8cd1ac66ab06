/** A resolved config as a person reads it: YAML, with where each value came from behind it. */
import { stringify } from 'yaml';
/**
 * Every option in force, as YAML that is a config itself.
 *
 * @example
 * resolvedConfig({ model: 'tiny', optimizer: { lr: 0.1 } }, { model: 'sft.yaml', 'optimizer.lr': '--set' })
 */
export function resolvedConfig(config, origins) {
    const lines = linesOf(config, origins, '', '');
    const column = Math.min(60, Math.max(...lines.map(({ text }) => text.length)));
    return lines
        .map(({ text, origin }) => (origin === undefined ? text : `${text.padEnd(column)}  # ${origin}`))
        .join('\n');
}
function linesOf(config, origins, indent, prefix) {
    return Object.entries(config).flatMap(([key, value]) => {
        if (value === undefined)
            return [];
        const path = `${prefix}${key}`;
        if (typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0)
            return [{ text: `${indent}${key}:` }, ...linesOf(value, origins, `${indent}  `, `${path}.`)];
        const text = `${indent}${key}: ${written(value)}`;
        return [{ text, origin: origins[path] ?? 'default' }];
    });
}
/** On one line. */
function written(value) {
    return typeof value === 'object'
        ? JSON.stringify(value)
        : stringify(value, { lineWidth: 0, blockQuote: false }).trim();
}
//# sourceMappingURL=resolved-config.js.map