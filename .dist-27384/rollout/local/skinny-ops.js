/** For families whose norms stand in front of attention and MLP. */
export function skinnyOps(gemm, rest) {
    return {
        ...rest,
        begin: (ids, { table, norm }) => gemm.begin(ids, { table, norm: norm }),
        linear: (x, { weight, bias }) => gemm.plain(x, { weight, bias }),
        gated: (x, { weight }) => gemm.gated(x, { weight }),
        join: (x, { weight, bias }, { residual, norm }) => ({
            normed: gemm.stream(x, { weight, bias, residual, norm }),
            residual,
        }),
        end: ({ normed }) => gemm.end(normed),
    };
}
//# sourceMappingURL=skinny-ops.js.map