/** A config from its layers: defaults, a preset, a file, the command line. Later ones win, and each value knows where it came from. */
import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { InputError, schemaProblems } from '../../errors/index.js';
import { commonWords } from './other-words.js';
/**
 * Merges the layers, lower ones first, and checks the whole by the schema. What is wrong is one error that names every option
 * with the layer it came from.
 *
 * @example
 * const schema = z.strictObject({ model: z.string(), seed: z.int().default(0) })
 * const { config, origins } = resolveConfig(schema, [fileLayer('sft.yaml', { model: 'tiny' })], { paths: ['model'] })
 */
export function resolveConfig(schema, layers, options = {}) {
    // Without a prototype: a config may have an option __proto__, which is to be refused by its name.
    const origins = Object.create(null);
    let merged = {};
    for (const { origin, values, directory = process.cwd() } of layers) {
        const placed = withPaths(values, directory, options);
        for (const path of leaves(placed)) {
            // A section of nothing changes nothing of one that is there.
            if (isSection(at(placed, path)) && isSection(at(merged, path)))
                continue;
            // A section that takes the place of a value, or a value that of a section, takes its origin with it.
            for (const known of Object.keys(origins))
                if (known.startsWith(`${path}.`))
                    delete origins[known];
            origins[path] = origin;
            const replaced = alternativeTo(path);
            if (replaced === undefined || at(placed, replaced) !== undefined)
                continue;
            merged = without(merged, replaced.split('.'));
            delete origins[replaced];
        }
        merged = merge(merged, placed);
    }
    const result = schema.safeParse(merged);
    if (!result.success) {
        // What is missing is missing in the file.
        const file = layers.findLast(layer => layer.directory !== undefined)?.origin;
        throw new InputError(problems(schema, result.error, { merged, origins, options, file }).join('\n'));
    }
    const config = result.data;
    const impossible = valueProblems(config, options);
    if (impossible.length > 0)
        throw new InputError(impossible.map(problem => withOrigin(problem, origins)).join('\n'));
    const all = leaves(config).map(path => [path, origins[path] ?? 'default']);
    return { config, origins: Object.fromEntries(all) };
}
/**
 * A problem that begins with an option, with the layer before it that the option came from; as it is where that is not known.
 *
 * @example
 * withOrigin('seed: is odd', { seed: 'sft.yaml' }) // sft.yaml: seed: is odd
 */
export function withOrigin(problem, origins) {
    const option = problem.match(/^[\w.]+(?=: )/)?.[0];
    const origin = option === undefined ? undefined : originOf(option, origins);
    return origin === undefined || origin === 'default' ? problem : `${origin}: ${problem}`;
}
/**
 * `a.b=value` as a layer; a value is JSON where it can be, and text otherwise.
 *
 * @example
 * settingsLayer(['optimizer.lr=1e-4', 'model=tiny'])
 */
export function settingsLayer(settings) {
    let values = {};
    for (const setting of settings) {
        const at = setting.indexOf('=');
        const key = setting.slice(0, at);
        if (at < 1 || key.split('.').some(part => part === ''))
            throw new InputError(`--set: expected key=value, got "${setting}"`);
        const nested = key
            .split('.')
            .reduceRight((value, part) => ({ [part]: value }), parsed(setting.slice(at + 1)));
        values = merge(values, nested);
    }
    return { origin: '--set', values };
}
/** What a config file says, as a layer; paths in it are relative to it. `$schema` is a word to editors. */
export function fileLayer(file, read) {
    if (!isSection(read))
        throw new InputError(`${file}: expected options by name, such as "model: DIR"`);
    const { $schema: _, ...values } = read;
    return { origin: file, values, directory: dirname(resolve(file)) };
}
function parsed(text) {
    try {
        return JSON.parse(text);
    }
    catch {
        return text;
    }
}
function isSection(value) {
    return typeof value === 'object' && value !== null && !Array.isArray(value);
}
function merge(below, above) {
    const merged = { ...below };
    for (const [key, value] of Object.entries(above)) {
        const old = Object.hasOwn(merged, key) ? merged[key] : undefined;
        const joined = isSection(old) && isSection(value) && sameKind(old, value) ? merge(old, value) : value;
        // Names such as __proto__ are data here.
        Object.defineProperty(merged, key, { value: joined, enumerable: true, writable: true, configurable: true });
    }
    return merged;
}
/** Options of one kind mean nothing to another: `{kind: adaptive}` over `{kind: fixed, coef: 0}` keeps nothing of it. */
function sameKind(below, above) {
    return above.kind === undefined || below.kind === undefined || above.kind === below.kind;
}
/** Two options that say the same in two ways. A layer that gives one of them replaces the other one of the layers below. */
const alternatives = { warmupSteps: 'warmupRatio', warmupRatio: 'warmupSteps' };
function alternativeTo(path) {
    const start = path.lastIndexOf('.') + 1;
    const other = alternatives[path.slice(start)];
    return other === undefined ? undefined : path.slice(0, start) + other;
}
function without(config, [key, ...rest]) {
    const { [key]: value, ...others } = config;
    if (rest.length === 0)
        return others;
    return isSection(value) ? { ...config, [key]: without(value, rest) } : { ...config };
}
function at(config, path) {
    return path.split('.').reduce((value, key) => (isSection(value) ? value[key] : undefined), config);
}
/** Dotted paths of everything that is not a section. */
function leaves(config, prefix = '') {
    return Object.entries(config).flatMap(([key, value]) => {
        if (value === undefined)
            return [];
        return isSection(value) && Object.keys(value).length > 0 ? leaves(value, `${prefix}${key}.`) : [`${prefix}${key}`];
    });
}
/** Paths in lists count too: `data` and `data.path` are those of a list of files and of sources. */
function withPaths(values, directory, { paths = [], words = [] }) {
    const place = (value, path) => {
        if (Array.isArray(value))
            return value.map(one => place(one, path));
        if (isSection(value))
            return placeAll(value, `${path}.`);
        const isPath = paths.includes(path) && typeof value === 'string' && value !== '' && !words.includes(value);
        return isPath ? resolve(directory, value) : value;
    };
    const placeAll = (config, prefix) => Object.fromEntries(Object.entries(config).map(([key, value]) => [key, place(value, `${prefix}${key}`)]));
    return placeAll(values, '');
}
/** What no option can be, whatever its schema: a path with a NUL character, a number that becomes 0 or infinite in float32. */
function valueProblems(config, { paths = [] }) {
    const wrongIn = (value, path) => {
        if (Array.isArray(value))
            return value.flatMap(one => wrongIn(one, path));
        if (isSection(value))
            return Object.entries(value).flatMap(([key, inner]) => wrongIn(inner, `${path}.${key}`));
        if (typeof value === 'string' && paths.includes(path) && value.includes('\0'))
            return [`${path}: expected a path without NUL characters, got ${JSON.stringify(value)}`];
        if (typeof value === 'number' && !isFloat32(value))
            return [
                `${path}: expected a number that float32 holds (up to 3.4e38, and not closer to 0 than 1e-45), got ${value}`,
            ];
        return [];
    };
    return Object.entries(config).flatMap(([key, value]) => wrongIn(value, key));
}
function isFloat32(value) {
    const rounded = Math.fround(value);
    return Number.isFinite(rounded) && (rounded !== 0 || value === 0);
}
function problems(schema, error, context) {
    const { merged, origins, options, file } = context;
    const otherWords = { ...commonWords, ...options.otherWords };
    const valueAt = (path) => path.reduce((value, key) => value?.[key], merged);
    const forms = (issue) => issue.code === 'invalid_union' && valueAt(issue.path) === undefined
        ? [{ code: 'invalid_type', expected: 'string', path: issue.path, message: 'received undefined' }]
        : unfolded(issue);
    return error.issues.flatMap(forms).flatMap(issue => {
        const where = issue.path.join('.');
        const describe = () => descriptionAt(schema, issue.path);
        const known = Object.keys(sectionAt(schema, issue.path));
        const lines = schemaProblems(new z.ZodError([issue]), { known, otherWords, describe, valueAt });
        const keys = issue.code === 'unrecognized_keys' ? issue.keys.map(key => (where === '' ? key : `${where}.${key}`)) : [where];
        return lines.map((line, i) => {
            const origin = originOf(keys[i] ?? where, origins) ?? file;
            return origin === undefined ? line : `${origin}: ${line}`;
        });
    });
}
/** Of an option, of what lies in it, or of the section or list that it lies in. */
function originOf(path, origins) {
    for (let at = path; at !== ''; at = at.slice(0, Math.max(0, at.lastIndexOf('.')))) {
        const own = Object.hasOwn(origins, at) ? origins[at] : undefined;
        const found = own ?? Object.entries(origins).find(([known]) => known.startsWith(`${at}.`))?.[1];
        if (found !== undefined)
            return found;
    }
    return undefined;
}
/**
 * Of a value that may have several forms: where it has the kind of one of them, what is wrong inside it; otherwise the forms
 * there are.
 */
function unfolded(issue) {
    if (issue.code !== 'invalid_union')
        return [issue];
    const { path } = issue;
    if (issue.discriminator !== undefined && 'options' in issue && issue.options)
        return [{ code: 'invalid_value', values: [...issue.options], path, message: '' }];
    const forms = issue.errors;
    const ofAnotherKind = (one) => one.code === 'invalid_type' && one.path.length === 0;
    const form = forms.find(issues => !issues.some(ofAnotherKind));
    if (form)
        return form.map(one => ({ ...one, path: [...path, ...one.path] })).flatMap(unfolded);
    const words = { string: 'text', object: 'options by name', array: 'a list' };
    const kinds = forms.flatMap(issues => issues.flatMap(one => (one.code === 'invalid_type' ? [one.expected] : [])));
    return [{ code: 'custom', path, message: `expected ${kinds.map(kind => words[kind] ?? kind).join(' or ')}` }];
}
/** The options of the section that a path leads to. */
function sectionAt(schema, path) {
    let shape = schema.shape;
    for (const key of path) {
        // A place in a list is of the same kind as the list's other places.
        if (typeof key === 'number')
            continue;
        const inner = shapeOf(shape[String(key)]);
        if (!inner)
            break;
        shape = inner;
    }
    return shape;
}
function shapeOf(schema) {
    const inner = bare(schema);
    if (inner instanceof z.ZodObject)
        return inner.shape;
    if (inner instanceof z.ZodArray)
        return shapeOf(inner.element);
    if (!(inner instanceof z.ZodUnion))
        return undefined;
    const shapes = inner.options.map(shapeOf).filter(shape => shape !== undefined);
    return shapes.length === 0 ? undefined : Object.assign({}, ...shapes);
}
function descriptionAt(schema, path) {
    const section = sectionAt(schema, path.slice(0, -1));
    return section[String(path.at(-1))]?.description;
}
/** A schema below what makes it optional. */
export function bare(schema) {
    let inner = schema;
    while (inner instanceof z.ZodOptional ||
        inner instanceof z.ZodDefault ||
        inner instanceof z.ZodPrefault ||
        inner instanceof z.ZodNullable)
        inner = inner.unwrap();
    return inner;
}
//# sourceMappingURL=resolve.js.map