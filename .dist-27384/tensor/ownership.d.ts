export type Owned = {
    ref: number;
};
/** The tensors of the innermost open scope; undefined where there is none. Only `scope.ts` changes it. */
export declare const scopes: {
    current: Owned[] | undefined;
};
/** Gives a new tensor its owner. */
export declare function adopt<T extends Owned>(tensor: T): T;
export declare function handToCollector(tensor: Owned): void;
/** Frees a tensor now. @internal */
export declare function release(tensor: Owned): void;
