/** Small enough to be worked out on paper, and exact in float32 (and in TF32): any other number is a wrong one. */
const left = [1, 2, 3, 4];
const right = [5, 6, 7, 8];
const expected = { product: [19, 22, 43, 50], leftGradient: [11, 15, 11, 15], rightGradient: [4, 4, 6, 6] };
export async function checkArithmetic({ Tensor }, device) {
    const owned = [];
    const own = (tensor) => {
        owned.push(tensor);
        return tensor;
    };
    const options = { shape: [2, 2], dtype: 'float32', device, requiresGrad: true };
    const check = async (name, work) => {
        try {
            return await work();
        }
        catch (error) {
            return { name, ok: false, detail: error instanceof Error ? error.message : String(error) };
        }
    };
    try {
        const product = `matrix product on ${device}`;
        const backward = `backward pass on ${device}`;
        return [
            await check(product, async () => {
                const result = own(own(Tensor.from(left, options)).matmul(own(Tensor.from(right, options))));
                return compare(product, [[await result.data(), expected.product]]);
            }),
            await check(backward, async () => {
                const a = own(Tensor.from(left, options));
                const b = own(Tensor.from(right, options));
                own(own(a.matmul(b)).sum()).backward();
                const gradients = [a.grad, b.grad].map(grad => grad && own(grad));
                return compare(backward, [
                    [(await gradients[0]?.data()) ?? [], expected.leftGradient],
                    [(await gradients[1]?.data()) ?? [], expected.rightGradient],
                ]);
            }),
        ];
    }
    finally {
        for (const tensor of owned)
            tensor.dispose();
    }
}
function compare(name, pairs) {
    for (const [actual, wanted] of pairs) {
        const values = Array.from(actual, Number);
        if (values.length !== wanted.length || values.some((value, index) => value !== wanted[index]))
            return { name, ok: false, detail: `got [${values.join(', ')}], expected [${wanted.join(', ')}]` };
    }
    return { name, ok: true, detail: 'right' };
}
//# sourceMappingURL=doctor-checks.js.map