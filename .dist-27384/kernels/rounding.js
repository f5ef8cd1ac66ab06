export function rounding(dtype) {
    const half = dtype === 'bfloat16' || dtype === 'float16';
    return {
        widen: x => (half ? x.toCopy({ dtype: 'float32' }) : x),
        narrow: x => (half ? x.toCopy({ dtype }) : x),
    };
}
//# sourceMappingURL=rounding.js.map