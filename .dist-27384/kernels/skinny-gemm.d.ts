/**
 * Projections of few rows on Hopper as CUDA kernels (skinny-gemm.cu, skinny-gemm-ends.cu), where what takes time is waiting: a
 * kernel starts while the one in front of it still runs, and norms are no kernels of their own. They know no gradients. The
 * same of operators: test/kernels/skinny-gemm-reference.ts.
 */
import { type CudaDevice, type Tensor } from '../tensor/index.js';
/**
 * Half of a norm: rows times the norm's weight, and the sums of their squares before that, float32 `[parts, rows]`. The other
 * half is one factor for each row, and goes on after the projection that reads them.
 */
export interface DeferredRmsNorm {
    values: Tensor;
    squares: Tensor;
    parts: number;
    /** Of the rows. */
    width: number;
}
/** The parts of a decoder's step between attentions. Weights exist when they are recorded. */
export interface SkinnyGemm {
    /** The rows `ids` of an embedding: the stream between layers, float32, and what its first norm makes of it. */
    begin(ids: Tensor, given: {
        table: Tensor;
        norm: Tensor;
    }): {
        residual: Tensor;
        normed: DeferredRmsNorm;
    };
    /** `norm(x) @ weight.T + bias` */
    plain(x: DeferredRmsNorm, given: {
        weight: Tensor;
        bias: Tensor | null;
    }): Tensor;
    /** `silu(gate) * up` of `norm(x) @ weight.T`; the weight's features are the gates, then the ups. */
    gated(x: DeferredRmsNorm, given: {
        weight: Tensor;
    }): Tensor;
    /** Adds `x @ weight.T + bias` to `residual`, in place; gives what the next norm makes of that. */
    stream(x: Tensor, given: {
        weight: Tensor;
        bias: Tensor | null;
        residual: Tensor;
        norm: Tensor;
    }): DeferredRmsNorm;
    /** The whole norm. */
    end(x: DeferredRmsNorm): Tensor;
}
export type StreamKind = 'plain' | 'gated' | 'stream';
/** How a product is divided among blocks of threads, and a block's tile among its warpgroups. */
export interface SkinnyGemmPlan {
    /** Of a tile; of the weight's features. */
    rows: number;
    features: number;
    /** Whether rows are the height of the tensor cores' matrices, which is 64 for each warpgroup, or features are. */
    upright: boolean;
    /** Warpgroups that divide the intermediate dimension. */
    depth: number;
    /** Blocks that divide it. */
    splits: number;
    /** Tiles on their way at once. */
    stages: number;
    /** Whether the kernel behind this one starts when products are done, or as soon as there is room. */
    late: boolean;
}
/**
 * `features` are the weight's, `blocks` those that run at once: a card's multiprocessors. Undefined where rows are no longer
 * few, or the product so large that it is bound by the tensor cores: there libtorch's are as fast.
 */
export declare function planSkinnyGemm(kind: StreamKind, { rows, features, intermediate, blocks }: {
    rows: number;
    features: number;
    intermediate: number;
    blocks: number;
}): SkinnyGemmPlan | undefined;
/** Of a block: tiles, which start at multiples of 1,024 bytes, and what others send it. */
export declare function streamSharedBytes(plan: SkinnyGemmPlan): number;
/** How many tiles of rows are in a cluster: all of them, or one where so large a cluster might have to wait for room. */
export declare function clusterHeight(given: {
    splits: number;
    parts: number;
    high: number;
    blocks: number;
}): number;
export interface StreamShape {
    hidden: number;
    intermediate: number;
    heads: number;
    kvHeads: number;
    headDim: number;
}
/**
 * Whether the kernels take a step of so many rows of a decoder of this shape: their products are Hopper's own instructions,
 * which no later chip has, and they read and write vectors of eight elements.
 */
export declare function skinnyGemmFits(rows: number, { hidden, intermediate, heads, kvHeads, headDim }: StreamShape, dtype: string, { capability, multiprocessors }: Pick<CudaDevice, 'capability' | 'multiprocessors'>): boolean;
/** For steps of any number of rows: those whose products are divided alike have their kernels in common. */
export declare function skinnyGemmKernels(eps: number, multiprocessors: number): (rows: number) => SkinnyGemm;
