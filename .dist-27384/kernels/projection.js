/** What projection.cuh asks for: a product so wide. Its instruction names every register of a thread's share. */
export function productDefines(columns) {
    const count = columns / 2;
    const each = (text) => Array.from({ length: count }, (_, i) => text(i)).join(', ');
    return {
        COLUMNS: columns,
        SHAPE: `"m64n${columns}k16"`,
        REGISTERS: `"${each(i => `%${i}`)}"`,
        LEFT: `"%${count}"`,
        RIGHT: `"%${count + 1}"`,
        OUTPUTS: each(i => `"+f"(d[${i}])`),
    };
}
/** A weight of `features` gates, then as many ups, as eight gates and the eight ups that belong to them. */
export function gatePairs(weight, features, inner) {
    return weight.view([2, features / 8, 8, inner]).permute([1, 0, 2, 3]);
}
/** So many of its features at a time. */
export const gatePairsBox = (features) => [features / 16, 2, 8, 64];
//# sourceMappingURL=projection.js.map