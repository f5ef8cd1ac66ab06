/** What clients call the weights; an engine counts them. */
import type { PolicyVersion } from '../../model/index.js';
export declare class VersionNames {
    private latest;
    private readonly names;
    constructor(latest: PolicyVersion);
    /** Of the weights that were named last. */
    get current(): string;
    /** The number under which an engine counts weights of this name from now on. */
    add(name: string): PolicyVersion;
    of(version: PolicyVersion): string;
}
