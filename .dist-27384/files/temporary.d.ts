export interface Leftover {
    readonly name: string;
    /** What it was meant to become, or was. */
    readonly target: string;
    readonly kind: 'tmp' | 'old';
    /** Whether its owner may still use it. Of other machines nothing can be known. */
    readonly alive: boolean;
}
/** A fresh hidden name for what is to become `name`. */
export declare function temporaryName(name: string): string;
/** What an entry of a directory is, if it is one of {@link temporaryName}'s. */
export declare function leftoverOf(name: string): Leftover | undefined;
/**
 * The file or directory an entry was meant to become, or `undefined` when it is no temporary one. Earlier versions wrote names
 * without an owner.
 */
export declare function temporaryTarget(name: string): string | undefined;
/** What is left of `target`, beside it. */
export declare function leftoversOf(directory: string, target: string): Promise<Leftover[]>;
/** Removes what dead processes left; where nothing may be written, it stays. */
export declare function removeDead(directory: string, left: readonly Leftover[]): Promise<void>;
