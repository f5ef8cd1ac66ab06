/** Tables of operations over plain rows: `LayerOps` composed of norms, products and activations that a device has. */
import { type Tensor } from '../tensor/index.js';
import type { DecoderConfig } from './config.js';
import { type Columns, type LayerOps, type LinearMap } from './layer.js';
import type { Projection } from './weight-map.js';
/** What an adapter adds to a projection: `scale * b(a(x))`. */
export interface LowRank {
    a: Tensor;
    b: Tensor;
    scale: number;
    dropout: number;
}
/** Where in the model an adapter's input is. */
export interface AdapterPlace {
    layer: number;
    projection: Projection;
}
/** What a device has operators of its own for. */
export interface PlainOps extends Pick<LayerOps, 'attend' | 'store'> {
    linear(x: Tensor, weight: Tensor, bias: Tensor | null): Tensor;
    rmsNorm(x: Tensor, weight: Tensor, eps: number): Tensor;
    /** The norm of `x + residual`, and the sum. */
    addRmsNorm(x: Tensor, residual: Tensor, weight: Tensor, eps: number): readonly [normed: Tensor, sum: Tensor];
    /** A projection, its residual and the norm of their sum, where the device has something better than one after another. */
    linearAddRmsNorm?(x: Tensor, given: {
        weight: Tensor;
        bias: Tensor | null;
        residual: Tensor;
        norm: Tensor;
    }, eps: number): readonly [normed: Tensor, sum: Tensor];
    /** `silu(gate) * up` of `[rows, gate then up]`. */
    swiglu(gateUp: Tensor): Tensor;
    /** That of a projection, where the device has something better than one after the other. */
    gatedLinear?(x: Tensor, weight: Tensor): Tensor;
    /** Norms of groups of columns of a wider matrix. Default: of the groups as rows. */
    normColumns?(x: Tensor, weight: Tensor, groups: number): Tensor;
    /** `out` and what the adapter makes of `input`. Only tables that are used with adapters have it. */
    addLowRank?(out: Tensor, input: Tensor, low: LowRank, place: AdapterPlace): Tensor;
}
export type AdapterLookup = (layer: number, projection: Projection) => LowRank | undefined;
/** What an adapter, where there is one, adds to the projections of a map. */
export declare function adapting(adapter: AdapterLookup | undefined, addLowRank: PlainOps['addLowRank']): {
    isAdapted: ({ layer, parts }: LinearMap) => boolean;
    adapt: (out: Tensor, input: Tensor, map: LinearMap) => Columns;
};
export declare function composeLayerOps({ normEps, norms }: Pick<DecoderConfig, 'normEps' | 'norms'>, ops: PlainOps, adapter?: AdapterLookup | undefined): LayerOps;
/** Groups of columns of a wider matrix, normalised as rows. */
export declare function normColumns(rmsNorm: (x: Tensor, weight: Tensor) => Tensor, x: Tensor, weight: Tensor, groups: number): Tensor;
/** One matrix of all columns. */
export declare function joinColumns(columns: Columns): Tensor;
