import { inspect } from 'node:util';
import { Code, isRecording, mailbox, Sym, setTensorClass, special } from './call.js';
import { arrayConstructor, deviceName, dtypeBytes, dtypeCode, dtypeName, dtypeOf, dtypeOfArray, } from './dtype.js';
import { ArgumentError, fromNative } from './errors.js';
import { native } from './native.js';
import { empty, TensorOperators } from './operators.generated.js';
import { adopt, release } from './ownership.js';
import { unscoped } from './scope.js';
/**
 * A tensor in libtorch's memory. Operators are methods (`a.matmul(b)`) or functions (`cat([a, b])`), named as in PyTorch in
 * camelCase, in-place ones with a trailing underscore. See `scope` for who frees it.
 *
 * ```ts
 * const a = Tensor.from([[1, 2], [3, 4]], { requiresGrad: true })
 * a.mul(a).sum().backward()
 * a.grad?.tolist() // [[2, 4], [6, 8]]
 * ```
 */
export class Tensor extends TensorOperators {
    /** Wraps a native handle; it then has an owner. @internal */
    static adopt(ref) {
        return adopt(new Tensor(ref));
    }
    /**
     * From a typed array (one copy, into libtorch's memory), or from nested arrays of numbers. Numbers are float32, bigints
     * int64, booleans bool, unless `dtype` says otherwise.
     */
    static from(data, options = {}) {
        const plain = ArrayBuffer.isView(data) ? undefined : flattenNested(data);
        const bits = data instanceof Uint16Array && (options.dtype === 'float16' || options.dtype === 'bfloat16');
        const array = plain ? plain.array : data;
        const stored = bits ? options.dtype : plain ? plain.dtype : dtypeOfArray(array);
        const shape = options.shape ?? plain?.shape ?? [array.length];
        if (!Array.isArray(shape) || shape.length > 64)
            throw new ArgumentError('a shape is an array of 64 whole numbers at most');
        const sizes = Array.from(shape);
        if (!sizes.every(size => typeof size === 'number'))
            throw new ArgumentError('a shape is an array of whole numbers');
        const box = mailbox();
        for (const [i, size] of sizes.entries())
            box[i] = size;
        let tensor;
        try {
            const raw = stored === 'bool' ? 'uint8' : stored;
            tensor = Tensor.adopt(native.fromBytes(array, dtypeCode(raw), sizes.length));
        }
        catch (thrown) {
            throw fromNative(thrown);
        }
        const wanted = options.dtype ?? (plain && stored === 'float64' ? 'float32' : stored);
        if (wanted !== tensor.dtype || (options.device && options.device !== 'cpu')) {
            const moved = tensor.to(options.device ?? 'cpu', wanted);
            tensor.dispose();
            tensor = moved;
        }
        if (options.requiresGrad)
            tensor.requiresGrad = true;
        return tensor;
    }
    /** Memory that is not filled. */
    static empty(shape, options = {}) {
        return empty(shape, options);
    }
    /** Its native handle, which a recorded value has not. */
    handle(what) {
        if (this.ref < 0)
            throw new ArgumentError(`while a program is recorded a tensor has no ${what} yet`);
        return this.ref;
    }
    meta() {
        if (this.ref < 0)
            throw new ArgumentError('while a program is recorded a tensor has no shape yet; use size(dim), or pass the number in');
        try {
            native.meta(this.ref);
        }
        catch (thrown) {
            throw fromNative(thrown);
        }
        const box = mailbox();
        const dims = box[8];
        const shape = new Array(dims);
        for (let i = 0; i < dims; i++)
            shape[i] = box[9 + i];
        return {
            dtypeCode: box[0],
            device: deviceName(box[1], box[2]),
            requiresGrad: box[3] !== 0,
            isLeaf: box[4] !== 0,
            isContiguous: box[5] !== 0,
            itemBytes: box[6],
            shape,
        };
    }
    get shape() {
        return this.meta().shape;
    }
    get dtype() {
        return dtypeOf(this.meta().dtypeCode);
    }
    get device() {
        return this.meta().device;
    }
    get isLeaf() {
        return this.meta().isLeaf;
    }
    get isContiguous() {
        return this.meta().isContiguous;
    }
    /** The number of elements. */
    get numel() {
        return this.meta().shape.reduce((product, size) => product * size, 1);
    }
    /** The bytes its elements take; a view counts its own elements. */
    get nbytes() {
        const { shape, itemBytes } = this.meta();
        return shape.reduce((product, size) => product * size, itemBytes);
    }
    get isDisposed() {
        return this.ref === 0;
    }
    size(dim) {
        if (isRecording() && this.ref < 0)
            return new Sym(special(Code.Size, [this, dim], 1)[0].ref);
        return special(Code.Size, [this, dim], 1)[0];
    }
    // ---- gradients
    get requiresGrad() {
        return this.meta().requiresGrad;
    }
    set requiresGrad(on) {
        try {
            native.setRequiresGrad(this.handle('gradient'), on);
        }
        catch (thrown) {
            throw fromNative(thrown);
        }
    }
    /** The gradient that `backward` accumulated here. The caller owns what this returns; the gradient itself stays. */
    get grad() {
        return special(Code.Gradient, [this], 1)[0];
    }
    set grad(value) {
        special(Code.SetGradient, [this, value ?? null], 0);
    }
    /** Adds the gradient of this tensor (a scalar, or with `gradient` given) to `grad` of every leaf it was computed from. */
    backward(gradient, options = {}) {
        special(Code.Backward, [this, gradient ?? null, options.retainGraph ?? false], 0);
    }
    // ---- moving and reading
    /** On another device, or of another dtype; itself, as a new handle, when nothing changes. */
    to(device, dtype) {
        if (this.ref > 0) {
            const { device: here, dtypeCode: code } = this.meta();
            const target = device === 'cuda' && here.startsWith('cuda') ? here : (device ?? here);
            const sameDtype = dtype === undefined || dtypeCode(dtype) === code;
            if (sameDtype && (target === here || `${target}:0` === here))
                return this.alias();
        }
        return this.toCopy({ device, dtype });
    }
    /** A second handle on the same tensor, with an owner of its own. */
    alias() {
        if (this.ref < 0)
            return new Tensor(this.ref);
        try {
            return Tensor.adopt(native.alias(this.ref));
        }
        catch (thrown) {
            throw fromNative(thrown);
        }
    }
    cast(dtype) {
        return this.to(undefined, dtype);
    }
    /**
     * Its elements in a typed array (float16 and bfloat16 as their bits, int64 as bigints). Copied on a thread of its own, so
     * that waiting for a GPU does not stop the event loop.
     */
    async data() {
        let answer;
        try {
            answer = await native.toHost(this.handle('values'));
        }
        catch (thrown) {
            throw fromNative(thrown);
        }
        const host = new Tensor(answer[3]);
        try {
            const Constructor = arrayConstructor(host.dtype);
            return new Constructor(native.memoryOf(host.ref));
        }
        finally {
            release(host);
        }
    }
    /** Its elements copied into `target`, whose bytes must be as many; now, on this thread. */
    read(target) {
        try {
            native.readInto(this.handle('values'), target);
        }
        catch (thrown) {
            throw fromNative(thrown);
        }
        return target;
    }
    /** Its elements in a new typed array; now, on this thread. */
    toArray() {
        const { dtype } = this;
        const Constructor = arrayConstructor(dtype);
        return this.read(new Constructor(this.nbytes / dtypeBytes(dtype)));
    }
    /** The only element of a one-element tensor, as a number; now, on this thread. */
    item() {
        return unscoped(() => {
            const wide = this.toCopy({ device: 'cpu', dtype: 'float64' });
            try {
                return wide.read(new Float64Array(1))[0];
            }
            finally {
                wide.dispose();
            }
        });
    }
    /** Nested arrays of numbers, for looking at small tensors. */
    tolist() {
        const { shape } = this;
        const flat = unscoped(() => {
            const wide = this.toCopy({ device: 'cpu', dtype: 'float64' });
            try {
                return wide.toArray();
            }
            finally {
                wide.dispose();
            }
        });
        let at = 0;
        const nest = (dim) => dim === shape.length ? flat[at++] : Array.from({ length: shape[dim] }, () => nest(dim + 1));
        return nest(0);
    }
    /**
     * Its memory, without a copy: writing here writes the tensor. Only for a contiguous tensor on the CPU. The memory lives as
     * long as the view, even if the tensor is disposed before it, and can no longer be resized.
     */
    bytes() {
        try {
            return new Uint8Array(native.memoryOf(this.handle('memory')));
        }
        catch (thrown) {
            throw fromNative(thrown);
        }
    }
    // ---- indexing
    /**
     * Part of the tensor, dimension by dimension: a number takes one position and drops the dimension, `[start, end]` a range,
     * `'all'` everything, `'new'` adds a dimension, a tensor picks by index or mask.
     *
     * ```ts
     * logits.at('all', -1)        // logits[:, -1]
     * x.at([0, 10], 'all', mask)  // x[:10, :, mask]
     * ```
     */
    at(...indices) {
        const made = [];
        let view = this;
        let dim = 0;
        // One entry for each dimension, except that a mask stands for as many as it has.
        const picks = [];
        const next = (value) => {
            made.push(value);
            view = value;
        };
        for (const index of indices) {
            if (index === 'all') {
                dim++;
                picks.push(null);
            }
            else if (index === 'new') {
                next(view.unsqueeze(dim++));
                picks.push(null);
            }
            else if (index instanceof Tensor) {
                dim += index.spans();
                picks.push(index);
            }
            else if (Array.isArray(index)) {
                next(view.slice(dim++, index[0], index[1]));
                picks.push(null);
            }
            else
                next(view.select(dim, index));
        }
        if (picks.some(pick => pick !== null))
            next(view.indexTensor(picks));
        if (made.length === 0)
            return this.alias();
        // Only the last view is the caller's.
        if (!isRecording())
            for (const part of made.slice(0, -1))
                part.dispose();
        return view;
    }
    /** How many dimensions it indexes: a mask as many as it has. A recorded one is taken for a list of positions. */
    spans() {
        if (this.ref < 0)
            return 1;
        const { dtypeCode: code, shape } = this.meta();
        return code === dtypeCode('bool') ? shape.length : 1;
    }
    /** Writes `value` into the part that `indices` name, as `at` would take it. */
    set(indices, value) {
        if (!Array.isArray(indices) || indices.length > 64)
            throw new ArgumentError('set() takes an array of indices, one for each dimension at most');
        const source = value instanceof Tensor ? value : undefined;
        const last = indices.findIndex(index => index instanceof Tensor);
        if (last < 0) {
            const part = this.at(...indices);
            if (source)
                part.copy_(source);
            else
                part.fill_(value);
            if (!isRecording())
                part.dispose();
            return this;
        }
        if (indices.some(index => index !== 'all' && !(index instanceof Tensor))) {
            throw new ArgumentError('set() takes ranges or index tensors, not both; use at() for the ranges first');
        }
        const picks = indices.map(index => (index instanceof Tensor ? index : null));
        if (source)
            this.indexPut_(picks, source);
        else {
            // While recording neither dtype nor device is known, but the part to be written has both.
            const filler = isRecording()
                ? this.indexTensor(picks).fullLike(value)
                : Tensor.from([value], { shape: [], dtype: this.dtype, device: this.device });
            this.indexPut_(picks, filler);
            if (!isRecording())
                filler.dispose();
        }
        return this;
    }
    // ---- life
    /** Frees it now. Using it afterwards is an error that says so. */
    dispose() {
        release(this);
    }
    [Symbol.dispose]() {
        this.dispose();
    }
    toString() {
        if (this.ref === 0)
            return 'Tensor(disposed)';
        if (this.ref < 0)
            return 'Tensor(recorded)';
        const { dtypeCode, device, shape } = this.meta();
        return `Tensor(${dtypeName(dtypeCode)}[${shape.join(', ')}] on ${device})`;
    }
    /** What console.log shows. */
    [inspect.custom]() {
        return this.toString();
    }
}
setTensorClass(ref => new Tensor(ref));
/**
 * Gradients of `outputs` (scalars, or with `gradients` given) with respect to `inputs`, undefined where an input had no part.
 * Nothing is accumulated.
 */
export function gradients(outputs, inputs, options = {}) {
    const lists = [outputs, inputs, options.gradients ?? []].map(list => Array.from(list, tensor => handleOf(tensor)));
    const box = mailbox(lists.reduce((sum, list) => sum + 1 + list.length, 0));
    let at = 0;
    for (const list of lists) {
        box[at++] = list.length;
        for (const ref of list)
            box[at++] = ref;
    }
    try {
        const create = options.createGraph ?? false;
        const count = -native.gradients(options.retainGraph ?? create, create);
        return readResults(count);
    }
    catch (thrown) {
        throw fromNative(thrown);
    }
}
function handleOf(tensor) {
    if (!(tensor instanceof Tensor))
        throw new ArgumentError('gradients() takes lists of tensors');
    if (tensor.ref < 0)
        throw new ArgumentError('gradients() is not recorded; use backward() and grad inside a program');
    return tensor.ref;
}
function readResults(count) {
    const box = mailbox();
    const found = [];
    let at = 0;
    for (let i = 0; i < count; i++) {
        if (box[at++] === 1)
            found.push(undefined);
        else
            found.push(Tensor.adopt(box[at++]));
    }
    return found;
}
function flattenNested(data) {
    const shape = [];
    for (let level = data; Array.isArray(level); level = level[0]) {
        shape.push(level.length);
        if (shape.length > 64)
            throw new ArgumentError('nested arrays of more than 64 levels');
        if (level.length === 0)
            break;
    }
    const flat = [];
    const visit = (value, dim) => {
        if (Array.isArray(value)) {
            if (value.length !== shape[dim])
                throw new ArgumentError(`nested arrays of unequal length: ${value.length} beside ${shape[dim] ?? 'a number'}`);
            for (const item of value)
                visit(item, dim + 1);
            return;
        }
        if (dim !== shape.length)
            throw new ArgumentError('nested arrays of unequal depth');
        if (typeof value !== 'number' && typeof value !== 'bigint' && typeof value !== 'boolean')
            throw new ArgumentError(`a tensor is made of numbers, got ${value === null ? 'null' : typeof value}`);
        flat.push(value);
    };
    visit(data, 0);
    const kind = typeof (flat[0] ?? 0);
    if (flat.some(value => typeof value !== kind))
        throw new ArgumentError('numbers, bigints and booleans cannot be mixed in one tensor');
    if (kind === 'bigint')
        return { array: BigInt64Array.from(flat), shape, dtype: 'int64' };
    if (kind === 'boolean')
        return { array: Uint8Array.from(flat, Number), shape, dtype: 'bool' };
    // float64 on the way, so that an integer dtype asked for gets its exact value.
    return { array: Float64Array.from(flat), shape, dtype: 'float64' };
}
//# sourceMappingURL=tensor.js.map