/**
 * What a config file says, unchecked: a schema has the next word. A module runs with all that this process may do, so only
 * one's own should be given.
 *
 * @example
 * const config = await readConfigFile('experience.yaml')
 */
export declare function readConfigFile(file: string): Promise<unknown>;
