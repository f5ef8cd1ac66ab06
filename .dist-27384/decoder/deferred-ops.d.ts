/** The table of operations over a float32 stream, where a norm's factor goes on behind the projection that reads it. */
import type { DeferredNorm, DeferredOps } from '../kernels/index.js';
import { type AdapterLookup, type PlainOps } from './composed-ops.js';
import type { DecoderConfig } from './config.js';
import type { LayerOps } from './layer.js';
export interface DeferredParts extends Pick<PlainOps, 'linear' | 'rmsNorm' | 'swiglu' | 'attend' | 'store' | 'normColumns' | 'addLowRank'> {
    deferred: DeferredOps;
    gradients: 'recorded' | 'none';
    /** Into how many parts the inner dimension of a product that joins the stream is divided. Default: one. */
    split?(inner: number): number;
}
/** For families whose norms stand in front of attention and MLP. */
export declare function deferredLayerOps({ normEps, hidden }: Pick<DecoderConfig, 'normEps' | 'hidden'>, ops: DeferredParts, adapter?: AdapterLookup | undefined): LayerOps<DeferredNorm>;
