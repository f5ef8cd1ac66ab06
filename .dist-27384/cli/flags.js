/**
 * A verb's flags are one zod schema: it says what is allowed, its descriptions are the help text, and what comes out is typed.
 * Keys are camelCase; `topP` is `--top-p` on the command line and in every message.
 */
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { didYouMean } from '../errors/index.js';
/** The command line does not say something that can be done: exit code 2. */
export class UsageError extends Error {
    name = 'UsageError';
}
/** How a key of a schema is typed: `--top-p` for `topP`. */
export function flagName(key) {
    return `--${key.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)}`;
}
// ---- kinds of flags
export const text = (placeholder, description, expected = 'some text') => z
    .string({ error: `expected ${expected}` })
    .min(1, `expected ${expected}`)
    .meta({ placeholder, description });
export const directory = (description) => text('DIR', description, 'a directory');
export const file = (description) => text('FILE', description, 'a file');
/** A flag that may be given several times. */
export const several = (placeholder, description) => z
    .array(text(placeholder, '', placeholder.toLowerCase()))
    .optional()
    .meta({ placeholder, description });
/** `--set KEY=VALUE`, of every verb with a config. */
export const settings = () => several('KEY=VALUE', "an option that takes the place of the config's; several times for several");
export const toggle = (description) => z.boolean().optional().meta({ description });
export function choice(values, placeholder, description) {
    const expected = values.length === 2 ? values.join(' or ') : `one of ${values.join(', ')}`;
    return z
        .enum(values, {
        error: ({ input }) => `expected ${expected}${typeof input === 'string' ? `, got "${input}"${didYouMean(input, values)}` : ''}`,
    })
        .meta({ placeholder, description });
}
/** A number of the command line, checked as text first: `Number('')` is 0. */
export function number({ description, placeholder = 'N', expected, accepts }) {
    return z
        .string({ error: `expected ${expected}` })
        .transform((typed, context) => {
        const value = Number(typed);
        if (/^\s*$/.test(typed) || !Number.isFinite(value) || !accepts(value)) {
            context.addIssue({ code: 'custom', message: `expected ${expected}, got "${typed}"`, input: typed });
            return z.NEVER;
        }
        return value;
    })
        .meta({ placeholder, description });
}
export function integer(description, { min, max = Number.MAX_SAFE_INTEGER }) {
    const range = max < Number.MAX_SAFE_INTEGER
        ? `from ${min} to ${max}`
        : min === Number.MIN_SAFE_INTEGER
            ? ''
            : `of at least ${min}`;
    return number({
        description,
        expected: `an integer ${range}`.trimEnd(),
        accepts: value => Number.isSafeInteger(value) && value >= min && value <= max,
    });
}
// ---- reading
/** What the command line says, or a {@link UsageError} with a line for everything that is wrong with it. */
export function readFlags(args, schema) {
    return readArguments(args, schema, { positionals: 'refuse' }).flags;
}
/** As `readFlags`, for a verb that also takes words which are no flags. */
export function readArguments(args, schema, { positionals }) {
    const options = {};
    const keys = new Map();
    for (const [key, field] of Object.entries(schema.shape)) {
        const name = flagName(key).slice(2);
        const base = baseOf(field);
        keys.set(name, key);
        options[name] =
            base instanceof z.ZodBoolean ? { type: 'boolean' } : { type: 'string', multiple: base instanceof z.ZodArray };
    }
    const given = parseOptions(args, options, { positionals });
    const values = Object.fromEntries(Object.entries(given.values).map(([name, value]) => [keys.get(name), value]));
    const checked = schema.safeParse(values);
    if (!checked.success)
        throw new UsageError(checked.error.issues.map(describeIssue).join('\n'));
    return { flags: checked.data, positionals: given.positionals };
}
/** node's parseArgs, with a misspelt option answered by the one that was probably meant. */
export function parseOptions(args, options, { positionals } = { positionals: 'refuse' }) {
    const known = Object.keys(options);
    for (const arg of args) {
        if (arg === '--')
            break;
        const name = arg.match(/^--([^=]+)/)?.[1];
        if (name !== undefined && !known.includes(name))
            throw new UsageError(`there is no option --${name}${didYouMean(name, known, '--')}`);
    }
    try {
        return parseArgs({ args: [...args], options, strict: true, allowPositionals: positionals === 'keep' });
    }
    catch (error) {
        throw new UsageError(error.message, { cause: error });
    }
}
function describeIssue({ path: [key], message }) {
    return key === undefined ? message : `${flagName(String(key))}: ${message}`;
}
/** The schema below `.optional()` and `.default()`. */
function baseOf(schema) {
    return schema instanceof z.ZodOptional || schema instanceof z.ZodDefault
        ? baseOf(schema.unwrap())
        : schema;
}
// ---- help
const screenWidth = 120;
/** A line for every flag, from its description: `  --top-p P   only the likeliest tokens ... (default 1)`. */
export function flagHelp(schema) {
    const rows = Object.entries(schema.shape).map(([key, value]) => {
        const field = value;
        const { placeholder, description = '' } = { ...baseOf(field).meta(), ...field.meta() };
        const label = [flagName(key), ...(typeof placeholder === 'string' ? [placeholder] : [])].join(' ');
        return { label, description: `${description}${defaultOf(field)}` };
    });
    const column = Math.max(...rows.map(({ label }) => label.length)) + 3;
    return rows
        .map(({ label, description }) => `  ${label.padEnd(column)}${wrap(description, screenWidth - column - 2, column + 2)}`)
        .join('\n');
}
function defaultOf(field) {
    if (!(field instanceof z.ZodDefault))
        return '';
    const value = field.def.defaultValue;
    return Array.isArray(value) || typeof value === 'boolean' ? '' : ` (default ${value})`;
}
function wrap(description, width, indent) {
    const lines = [''];
    for (const word of description.split(' ')) {
        const line = lines.at(-1);
        if (line !== '' && line.length + 1 + word.length > width)
            lines.push(word);
        else
            lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
    }
    return lines.join(`\n${' '.repeat(indent)}`);
}
//# sourceMappingURL=flags.js.map