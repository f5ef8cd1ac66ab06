/** The table of operations of few rows: every norm is divided between the projection in front of it and the one behind. */
import type { LayerOps } from '../../decoder/index.js'
import type { DeferredRmsNorm, SkinnyGemm } from '../../kernels/index.js'

/** For families whose norms stand in front of attention and MLP. */
export function skinnyOps(gemm: SkinnyGemm, rest: Pick<LayerOps, 'attend' | 'normColumns'>): LayerOps<DeferredRmsNorm> {
  return {
    ...rest,
    begin: (ids, { table, norm }) => gemm.begin(ids, { table, norm: norm! }),
    linear: (x, { weight, bias }) => gemm.plain(x, { weight, bias }),
    gated: (x, { weight }) => gemm.gated(x, { weight }),
    join: (x, { weight, bias }, { residual, norm }) => ({
      normed: gemm.stream(x, { weight, bias, residual, norm }),
      residual,
    }),
    end: ({ normed }) => gemm.end(normed),
  }
}
