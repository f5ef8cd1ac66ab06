import { z } from 'zod';
/** Nested options by name, unchecked. */
export type RawConfig = Readonly<Record<string, unknown>>;
export interface ConfigLayer {
    /** For people: `grpo.yaml`, `--set`, `preset grpo`. */
    readonly origin: string;
    readonly values: RawConfig;
    /** Relative paths are relative to this directory. Default: the current one. */
    readonly directory?: string;
}
export interface ResolvedConfig<C> {
    readonly config: C;
    /** By dotted path; a value that no layer gave is a `default`. */
    readonly origins: Readonly<Record<string, string>>;
}
export interface ResolveOptions {
    /** Dotted paths of options that name files or directories. */
    readonly paths?: readonly string[];
    /** Words of other systems for what is called otherwise here, beside those that every training has. */
    readonly otherWords?: Readonly<Record<string, string>>;
    /** Values of path options that are words, not paths: `adapter-off`, `none`. */
    readonly words?: readonly string[];
}
/**
 * Merges the layers, lower ones first, and checks the whole by the schema. What is wrong is one error that names every option
 * with the layer it came from.
 *
 * @example
 * const schema = z.strictObject({ model: z.string(), seed: z.int().default(0) })
 * const { config, origins } = resolveConfig(schema, [fileLayer('sft.yaml', { model: 'tiny' })], { paths: ['model'] })
 */
export declare function resolveConfig<S extends z.ZodObject>(schema: S, layers: readonly ConfigLayer[], options?: ResolveOptions): ResolvedConfig<z.output<S>>;
/**
 * A problem that begins with an option, with the layer before it that the option came from; as it is where that is not known.
 *
 * @example
 * withOrigin('seed: is odd', { seed: 'sft.yaml' }) // sft.yaml: seed: is odd
 */
export declare function withOrigin(problem: string, origins: Readonly<Record<string, string>>): string;
/**
 * `a.b=value` as a layer; a value is JSON where it can be, and text otherwise.
 *
 * @example
 * settingsLayer(['optimizer.lr=1e-4', 'model=tiny'])
 */
export declare function settingsLayer(settings: readonly string[]): ConfigLayer;
/** What a config file says, as a layer; paths in it are relative to it. `$schema` is a word to editors. */
export declare function fileLayer(file: string, read: unknown): ConfigLayer;
/** A schema below what makes it optional. */
export declare function bare(schema: unknown): unknown;
