import { type NumberLike, Ref } from './call.js';
import type { Device, DType } from './dtype.js';
import type { RandomGenerator } from './random.js';
import type { Tensor } from './tensor.js';
/** The operators that have a tensor as their first argument. */
export declare abstract class TensorOperators extends Ref {
    /**
     * aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
     * aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor
     */
    add(other: Tensor | NumberLike, options?: {
        alpha?: NumberLike | undefined;
    }): Tensor;
    /**
     * aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)
     * aten::add_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1) -> Tensor(a!)
     */
    add_(other: Tensor | NumberLike, options?: {
        alpha?: NumberLike | undefined;
    }): this;
    /**
     * aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
     * aten::sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor
     */
    sub(other: Tensor | NumberLike, options?: {
        alpha?: NumberLike | undefined;
    }): Tensor;
    /**
     * aten::sub_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)
     * aten::sub_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1) -> Tensor(a!)
     */
    sub_(other: Tensor | NumberLike, options?: {
        alpha?: NumberLike | undefined;
    }): this;
    /**
     * aten::mul.Tensor(Tensor self, Tensor other) -> Tensor
     * aten::mul.Scalar(Tensor self, Scalar other) -> Tensor
     */
    mul(other: Tensor | NumberLike): Tensor;
    /**
     * aten::mul_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
     * aten::mul_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
     */
    mul_(other: Tensor | NumberLike): this;
    /**
     * aten::mul.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
     */
    mulOut(other: Tensor, options: {
        out: Tensor;
    }): void;
    /**
     * aten::div.Tensor(Tensor self, Tensor other) -> Tensor
     * aten::div.Scalar(Tensor self, Scalar other) -> Tensor
     * aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor
     * aten::div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor
     */
    div(other: Tensor | NumberLike, options?: {
        roundingMode?: string | undefined;
    }): Tensor;
    /**
     * aten::div_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
     * aten::div_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
     */
    div_(other: Tensor | NumberLike): this;
    /**
     * aten::remainder.Tensor(Tensor self, Tensor other) -> Tensor
     * aten::remainder.Scalar(Tensor self, Scalar other) -> Tensor
     */
    remainder(other: Tensor | NumberLike): Tensor;
    /**
     * aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor
     * aten::pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor
     */
    pow(exponent: NumberLike | Tensor): Tensor;
    /**
     * aten::rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
     * aten::rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor
     */
    rsub(other: Tensor | NumberLike, options?: {
        alpha?: NumberLike | undefined;
    }): Tensor;
    /**
     * aten::neg(Tensor self) -> Tensor
     */
    neg(): Tensor;
    /**
     * aten::neg_(Tensor(a!) self) -> Tensor(a!)
     */
    neg_(): this;
    /**
     * aten::abs(Tensor self) -> Tensor
     */
    abs(): Tensor;
    /**
     * aten::exp(Tensor self) -> Tensor
     */
    exp(): Tensor;
    /**
     * aten::exp_(Tensor(a!) self) -> Tensor(a!)
     */
    exp_(): this;
    /**
     * aten::log(Tensor self) -> Tensor
     */
    log(): Tensor;
    /**
     * aten::log1p(Tensor self) -> Tensor
     */
    log1p(): Tensor;
    /**
     * aten::expm1(Tensor self) -> Tensor
     */
    expm1(): Tensor;
    /**
     * aten::sqrt(Tensor self) -> Tensor
     */
    sqrt(): Tensor;
    /**
     * aten::rsqrt(Tensor self) -> Tensor
     */
    rsqrt(): Tensor;
    /**
     * aten::reciprocal(Tensor self) -> Tensor
     */
    reciprocal(): Tensor;
    /**
     * aten::square(Tensor self) -> Tensor
     */
    square(): Tensor;
    /**
     * aten::sin(Tensor self) -> Tensor
     */
    sin(): Tensor;
    /**
     * aten::cos(Tensor self) -> Tensor
     */
    cos(): Tensor;
    /**
     * aten::tanh(Tensor self) -> Tensor
     */
    tanh(): Tensor;
    /**
     * aten::sigmoid(Tensor self) -> Tensor
     */
    sigmoid(): Tensor;
    /**
     * aten::erf(Tensor self) -> Tensor
     */
    erf(): Tensor;
    /**
     * aten::floor(Tensor self) -> Tensor
     */
    floor(): Tensor;
    /**
     * aten::round(Tensor self) -> Tensor
     */
    round(): Tensor;
    /**
     * aten::sign(Tensor self) -> Tensor
     */
    sign(): Tensor;
    /**
     * aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor
     * aten::clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor
     */
    clamp(min?: NumberLike | Tensor | null | undefined, max?: NumberLike | Tensor | null | undefined): Tensor;
    /**
     * aten::clamp_(Tensor(a!) self, Scalar? min=None, Scalar? max=None) -> Tensor(a!)
     */
    clamp_(min?: NumberLike | undefined, max?: NumberLike | undefined): this;
    /**
     * aten::maximum(Tensor self, Tensor other) -> Tensor
     */
    maximum(other: Tensor): Tensor;
    /**
     * aten::minimum(Tensor self, Tensor other) -> Tensor
     */
    minimum(other: Tensor): Tensor;
    /**
     * aten::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor
     */
    addcmul(tensor1: Tensor, tensor2: Tensor, options?: {
        value?: NumberLike | undefined;
    }): Tensor;
    /**
     * aten::addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor
     */
    addcdiv(tensor1: Tensor, tensor2: Tensor, options?: {
        value?: NumberLike | undefined;
    }): Tensor;
    /**
     * aten::addcmul_(Tensor(a!) self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor(a!)
     */
    addcmul_(tensor1: Tensor, tensor2: Tensor, options?: {
        value?: NumberLike | undefined;
    }): this;
    /**
     * aten::addcdiv_(Tensor(a!) self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor(a!)
     */
    addcdiv_(tensor1: Tensor, tensor2: Tensor, options?: {
        value?: NumberLike | undefined;
    }): this;
    /**
     * aten::lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor
     * aten::lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor
     */
    lerp(end: Tensor, weight: NumberLike | Tensor): Tensor;
    /**
     * aten::lerp_.Scalar(Tensor(a!) self, Tensor end, Scalar weight) -> Tensor(a!)
     * aten::lerp_.Tensor(Tensor(a!) self, Tensor end, Tensor weight) -> Tensor(a!)
     */
    lerp_(end: Tensor, weight: NumberLike | Tensor): this;
    /**
     * aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor
     */
    nanToNum(nan?: NumberLike | undefined, posinf?: NumberLike | undefined, neginf?: NumberLike | undefined): Tensor;
    /**
     * aten::relu(Tensor self) -> Tensor
     */
    relu(): Tensor;
    /**
     * aten::silu(Tensor self) -> Tensor
     */
    silu(): Tensor;
    /**
     * aten::silu_(Tensor(a!) self) -> Tensor(a!)
     */
    silu_(): this;
    /**
     * aten::silu.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
     */
    siluOut(options: {
        out: Tensor;
    }): void;
    /**
     * aten::gelu(Tensor self, *, str approximate="none") -> Tensor
     */
    gelu(options?: {
        approximate?: string | undefined;
    }): Tensor;
    /**
     * aten::softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor
     */
    softplus(beta?: NumberLike | undefined, threshold?: NumberLike | undefined): Tensor;
    /**
     * aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor
     */
    softmax(dim: NumberLike, options?: {
        dtype?: DType | undefined;
    }): Tensor;
    /**
     * aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor
     */
    logSoftmax(dim: NumberLike, options?: {
        dtype?: DType | undefined;
    }): Tensor;
    /**
     * aten::log_sigmoid(Tensor self) -> Tensor
     */
    logsigmoid(): Tensor;
    /**
     * aten::matmul(Tensor self, Tensor other) -> Tensor
     */
    matmul(other: Tensor): Tensor;
    /**
     * aten::mm(Tensor self, Tensor mat2) -> Tensor
     */
    mm(mat2: Tensor): Tensor;
    /**
     * aten::bmm(Tensor self, Tensor mat2) -> Tensor
     */
    bmm(mat2: Tensor): Tensor;
    /**
     * aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor
     */
    addmm(mat1: Tensor, mat2: Tensor, options?: {
        beta?: NumberLike | undefined;
        alpha?: NumberLike | undefined;
    }): Tensor;
    /**
     * aten::addmm_(Tensor(a!) self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor(a!)
     */
    addmm_(mat1: Tensor, mat2: Tensor, options?: {
        beta?: NumberLike | undefined;
        alpha?: NumberLike | undefined;
    }): this;
    /**
     * aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor
     */
    baddbmm(batch1: Tensor, batch2: Tensor, options?: {
        beta?: NumberLike | undefined;
        alpha?: NumberLike | undefined;
    }): Tensor;
    /**
     * aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor
     * aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
     */
    sum(dim?: readonly NumberLike[] | NumberLike | undefined, options?: {
        dtype?: DType | undefined;
        keepdim?: boolean | undefined;
    }): Tensor;
    /**
     * aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor
     * aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
     */
    mean(dim?: readonly NumberLike[] | NumberLike | undefined, options?: {
        dtype?: DType | undefined;
        keepdim?: boolean | undefined;
    }): Tensor;
    /**
     * aten::std(Tensor self, bool unbiased=True) -> Tensor
     * aten::std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor
     */
    std(dim?: readonly NumberLike[] | NumberLike | undefined, options?: {
        unbiased?: boolean | undefined;
        correction?: NumberLike | undefined;
        keepdim?: boolean | undefined;
    }): Tensor;
    /**
     * aten::var(Tensor self, bool unbiased=True) -> Tensor
     * aten::var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor
     */
    variance(dim?: readonly NumberLike[] | NumberLike | undefined, options?: {
        unbiased?: boolean | undefined;
        correction?: NumberLike | undefined;
        keepdim?: boolean | undefined;
    }): Tensor;
    /**
     * aten::max(Tensor self) -> Tensor
     * aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
     */
    max(dim?: NumberLike | undefined, options?: {
        keepdim?: boolean | undefined;
    }): Tensor | [Tensor, Tensor];
    /**
     * aten::min(Tensor self) -> Tensor
     * aten::min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
     */
    min(dim?: NumberLike | undefined, options?: {
        keepdim?: boolean | undefined;
    }): Tensor | [Tensor, Tensor];
    /**
     * aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor
     */
    amax(dim?: readonly NumberLike[] | NumberLike | undefined, options?: {
        keepdim?: boolean | undefined;
    }): Tensor;
    /**
     * aten::amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor
     */
    amin(dim?: readonly NumberLike[] | NumberLike | undefined, options?: {
        keepdim?: boolean | undefined;
    }): Tensor;
    /**
     * aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor
     */
    argmax(dim?: NumberLike | undefined, options?: {
        keepdim?: boolean | undefined;
    }): Tensor;
    /**
     * aten::argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor
     */
    argmin(dim?: NumberLike | undefined, options?: {
        keepdim?: boolean | undefined;
    }): Tensor;
    /**
     * aten::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor
     */
    logsumexp(dim: readonly NumberLike[] | NumberLike, options?: {
        keepdim?: boolean | undefined;
    }): Tensor;
    /**
     * aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor
     */
    cumsum(dim: NumberLike, options?: {
        dtype?: DType | undefined;
    }): Tensor;
    /**
     * aten::cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor
     */
    cumprod(dim: NumberLike, options?: {
        dtype?: DType | undefined;
    }): Tensor;
    /**
     * aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor
     * aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
     */
    prod(dim?: NumberLike | undefined, options?: {
        dtype?: DType | undefined;
        keepdim?: boolean | undefined;
    }): Tensor;
    /**
     * aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
     */
    norm(ord?: NumberLike | undefined, dim?: readonly NumberLike[] | NumberLike | undefined, options?: {
        keepdim?: boolean | undefined;
        dtype?: DType | undefined;
    }): Tensor;
    /**
     * aten::any(Tensor self) -> Tensor
     * aten::any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor
     */
    any(dim?: NumberLike | undefined, options?: {
        keepdim?: boolean | undefined;
    }): Tensor;
    /**
     * aten::all(Tensor self) -> Tensor
     * aten::all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor
     */
    all(dim?: NumberLike | undefined, options?: {
        keepdim?: boolean | undefined;
    }): Tensor;
    /**
     * aten::count_nonzero(Tensor self, int? dim=None) -> Tensor
     */
    countNonzero(dim?: NumberLike | undefined): Tensor;
    /**
     * aten::topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)
     */
    topk(k: NumberLike, dim?: NumberLike | undefined, options?: {
        largest?: boolean | undefined;
        sorted?: boolean | undefined;
    }): [Tensor, Tensor];
    /**
     * aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)
     */
    sort(dim?: NumberLike | undefined, options?: {
        descending?: boolean | undefined;
    }): [Tensor, Tensor];
    /**
     * aten::argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor
     */
    argsort(dim?: NumberLike | undefined, options?: {
        descending?: boolean | undefined;
    }): Tensor;
    /**
     * aten::eq.Tensor(Tensor self, Tensor other) -> Tensor
     * aten::eq.Scalar(Tensor self, Scalar other) -> Tensor
     */
    eq(other: Tensor | NumberLike): Tensor;
    /**
     * aten::ne.Tensor(Tensor self, Tensor other) -> Tensor
     * aten::ne.Scalar(Tensor self, Scalar other) -> Tensor
     */
    ne(other: Tensor | NumberLike): Tensor;
    /**
     * aten::lt.Tensor(Tensor self, Tensor other) -> Tensor
     * aten::lt.Scalar(Tensor self, Scalar other) -> Tensor
     */
    lt(other: Tensor | NumberLike): Tensor;
    /**
     * aten::le.Tensor(Tensor self, Tensor other) -> Tensor
     * aten::le.Scalar(Tensor self, Scalar other) -> Tensor
     */
    le(other: Tensor | NumberLike): Tensor;
    /**
     * aten::gt.Tensor(Tensor self, Tensor other) -> Tensor
     * aten::gt.Scalar(Tensor self, Scalar other) -> Tensor
     */
    gt(other: Tensor | NumberLike): Tensor;
    /**
     * aten::ge.Tensor(Tensor self, Tensor other) -> Tensor
     * aten::ge.Scalar(Tensor self, Scalar other) -> Tensor
     */
    ge(other: Tensor | NumberLike): Tensor;
    /**
     * aten::logical_and(Tensor self, Tensor other) -> Tensor
     */
    logicalAnd(other: Tensor): Tensor;
    /**
     * aten::logical_or(Tensor self, Tensor other) -> Tensor
     */
    logicalOr(other: Tensor): Tensor;
    /**
     * aten::logical_not(Tensor self) -> Tensor
     */
    logicalNot(): Tensor;
    /**
     * aten::isnan(Tensor self) -> Tensor
     */
    isnan(): Tensor;
    /**
     * aten::isinf(Tensor self) -> Tensor
     */
    isinf(): Tensor;
    /**
     * aten::isfinite(Tensor self) -> Tensor
     */
    isfinite(): Tensor;
    /**
     * aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor
     * aten::masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor
     */
    maskedFill(mask: Tensor, value: NumberLike | Tensor): Tensor;
    /**
     * aten::masked_fill_.Scalar(Tensor(a!) self, Tensor mask, Scalar value) -> Tensor(a!)
     * aten::masked_fill_.Tensor(Tensor(a!) self, Tensor mask, Tensor value) -> Tensor(a!)
     */
    maskedFill_(mask: Tensor, value: NumberLike | Tensor): this;
    /**
     * aten::masked_select(Tensor self, Tensor mask) -> Tensor
     */
    maskedSelect(mask: Tensor): Tensor;
    /**
     * aten::allclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False) -> bool
     */
    allclose(other: Tensor, rtol?: NumberLike | undefined, atol?: NumberLike | undefined, options?: {
        equalNan?: boolean | undefined;
    }): boolean;
    /**
     * aten::equal(Tensor self, Tensor other) -> bool
     */
    equal(other: Tensor): boolean;
    /**
     * aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)
     */
    view(size: readonly NumberLike[]): Tensor;
    /**
     * aten::view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)
     */
    viewDtype(options: {
        dtype: DType;
    }): Tensor;
    /**
     * aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)
     */
    reshape(shape: readonly NumberLike[]): Tensor;
    /**
     * aten::flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)
     */
    flatten(startDim?: NumberLike | undefined, endDim?: NumberLike | undefined): Tensor;
    /**
     * aten::unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)
     */
    unflatten(dim: NumberLike, sizes: readonly NumberLike[]): Tensor;
    /**
     * aten::squeeze(Tensor(a) self) -> Tensor(a)
     * aten::squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)
     */
    squeeze(dim?: NumberLike | undefined): Tensor;
    /**
     * aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a)
     */
    unsqueeze(dim: NumberLike): Tensor;
    /**
     * aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)
     */
    transpose(dim0: NumberLike, dim1: NumberLike): Tensor;
    /**
     * aten::t(Tensor(a) self) -> Tensor(a)
     */
    t(): Tensor;
    /**
     * aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)
     */
    permute(dims: readonly NumberLike[]): Tensor;
    /**
     * aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)
     */
    expand(size: readonly NumberLike[], options?: {
        implicit?: boolean | undefined;
    }): Tensor;
    /**
     * aten::repeat(Tensor self, SymInt[] repeats) -> Tensor
     */
    repeat(repeats: readonly NumberLike[]): Tensor;
    /**
     * aten::repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor
     * aten::repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor
     */
    repeatInterleave(repeats: NumberLike | Tensor, dim?: NumberLike | undefined, options?: {
        outputSize?: NumberLike | undefined;
    }): Tensor;
    /**
     * aten::contiguous(Tensor(a) self, *, MemoryFormat memory_format=0) -> Tensor(a)
     */
    contiguous(): Tensor;
    /**
     * aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]
     */
    split(splitSize: NumberLike, dim?: NumberLike | undefined): Tensor[];
    /**
     * aten::split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]
     */
    splitWithSizes(splitSizes: readonly NumberLike[], dim?: NumberLike | undefined): Tensor[];
    /**
     * aten::chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]
     */
    chunk(chunks: NumberLike, dim?: NumberLike | undefined): Tensor[];
    /**
     * aten::unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]
     */
    unbind(dim?: NumberLike | undefined): Tensor[];
    /**
     * aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor
     */
    roll(shifts: readonly NumberLike[] | NumberLike, dims?: readonly NumberLike[] | NumberLike | undefined): Tensor;
    /**
     * aten::flip(Tensor self, int[] dims) -> Tensor
     */
    flip(dims: readonly NumberLike[]): Tensor;
    /**
     * aten::constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor
     */
    pad(pad: readonly NumberLike[], value?: NumberLike | undefined): Tensor;
    /**
     * aten::tril(Tensor self, SymInt diagonal=0) -> Tensor
     */
    tril(diagonal?: NumberLike | undefined): Tensor;
    /**
     * aten::triu(Tensor self, SymInt diagonal=0) -> Tensor
     */
    triu(diagonal?: NumberLike | undefined): Tensor;
    /**
     * aten::diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)
     */
    diagonal(offset?: NumberLike | undefined, dim1?: NumberLike | undefined, dim2?: NumberLike | undefined): Tensor;
    /**
     * aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)
     */
    select(dim: NumberLike, index: NumberLike): Tensor;
    /**
     * aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)
     */
    slice(dim?: NumberLike | undefined, start?: NumberLike | undefined, end?: NumberLike | undefined, step?: NumberLike | undefined): Tensor;
    /**
     * aten::narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)
     */
    narrow(dim: NumberLike, start: NumberLike, length: NumberLike): Tensor;
    /**
     * aten::index_select(Tensor self, int dim, Tensor index) -> Tensor
     */
    indexSelect(dim: NumberLike, index: Tensor): Tensor;
    /**
     * aten::index_add_(Tensor(a!) self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor(a!)
     */
    indexAdd_(dim: NumberLike, index: Tensor, source: Tensor, options?: {
        alpha?: NumberLike | undefined;
    }): this;
    /**
     * aten::index_copy_(Tensor(a!) self, int dim, Tensor index, Tensor source) -> Tensor(a!)
     */
    indexCopy_(dim: NumberLike, index: Tensor, source: Tensor): this;
    /**
     * aten::index_fill_.int_Scalar(Tensor(a!) self, int dim, Tensor index, Scalar value) -> Tensor(a!)
     */
    indexFill_(dim: NumberLike, index: Tensor, value: NumberLike): this;
    /**
     * aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor
     */
    gather(dim: NumberLike, index: Tensor, options?: {
        sparseGrad?: boolean | undefined;
    }): Tensor;
    /**
     * aten::scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor
     * aten::scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor
     */
    scatter(dim: NumberLike, index: Tensor, src: Tensor | NumberLike): Tensor;
    /**
     * aten::scatter_.src(Tensor(a!) self, int dim, Tensor index, Tensor src) -> Tensor(a!)
     * aten::scatter_.value(Tensor(a!) self, int dim, Tensor index, Scalar value) -> Tensor(a!)
     */
    scatter_(dim: NumberLike, index: Tensor, src: Tensor | NumberLike): this;
    /**
     * aten::scatter_add_(Tensor(a!) self, int dim, Tensor index, Tensor src) -> Tensor(a!)
     */
    scatterAdd_(dim: NumberLike, index: Tensor, src: Tensor): this;
    /**
     * aten::take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor
     */
    takeAlongDim(indices: Tensor, dim?: NumberLike | undefined): Tensor;
    /**
     * aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor
     */
    indexTensor(indices: readonly (Tensor | null)[]): Tensor;
    /**
     * aten::index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor(a!)
     */
    indexPut_(indices: readonly (Tensor | null)[], values: Tensor, options?: {
        accumulate?: boolean | undefined;
    }): this;
    /**
     * aten::nonzero(Tensor self) -> Tensor
     */
    nonzero(): Tensor;
    /**
     * aten::bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor
     */
    bincount(weights?: Tensor | null | undefined, minlength?: NumberLike | undefined): Tensor;
    /**
     * aten::empty_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
     */
    emptyLike(options?: {
        dtype?: DType | undefined;
        device?: Device | undefined;
    }): Tensor;
    /**
     * aten::zeros_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
     */
    zerosLike(options?: {
        dtype?: DType | undefined;
        device?: Device | undefined;
    }): Tensor;
    /**
     * aten::ones_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
     */
    onesLike(options?: {
        dtype?: DType | undefined;
        device?: Device | undefined;
    }): Tensor;
    /**
     * aten::new_zeros(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
     */
    newZeros(size: readonly NumberLike[], options?: {
        dtype?: DType | undefined;
        device?: Device | undefined;
    }): Tensor;
    /**
     * aten::new_empty(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
     */
    newEmpty(size: readonly NumberLike[], options?: {
        dtype?: DType | undefined;
        device?: Device | undefined;
    }): Tensor;
    /**
     * aten::full_like(Tensor self, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
     */
    fullLike(fillValue: NumberLike, options?: {
        dtype?: DType | undefined;
        device?: Device | undefined;
    }): Tensor;
    /**
     * aten::multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, Generator? generator=None) -> Tensor
     */
    multinomial(numSamples: NumberLike, options?: {
        replacement?: boolean | undefined;
        generator?: RandomGenerator | undefined;
    }): Tensor;
    /**
     * aten::bernoulli(Tensor self, *, Generator? generator=None) -> Tensor
     * aten::bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor
     */
    bernoulli(p?: NumberLike | undefined, options?: {
        generator?: RandomGenerator | undefined;
    }): Tensor;
    /**
     * aten::uniform_(Tensor(a!) self, float from=0., float to=1., *, Generator? generator=None) -> Tensor(a!)
     */
    uniform_(from?: NumberLike | undefined, to?: NumberLike | undefined, options?: {
        generator?: RandomGenerator | undefined;
    }): this;
    /**
     * aten::normal_(Tensor(a!) self, float mean=0., float std=1., *, Generator? generator=None) -> Tensor(a!)
     */
    normal_(mean?: NumberLike | undefined, std?: NumberLike | undefined, options?: {
        generator?: RandomGenerator | undefined;
    }): this;
    /**
     * aten::exponential_(Tensor(a!) self, float lambd=1., *, Generator? generator=None) -> Tensor(a!)
     */
    exponential_(lambd?: NumberLike | undefined, options?: {
        generator?: RandomGenerator | undefined;
    }): this;
    /**
     * aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor
     */
    clone(): Tensor;
    /**
     * aten::detach(Tensor(a) self) -> Tensor(a)
     */
    detach(): Tensor;
    /**
     * aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)
     */
    copy_(src: Tensor, options?: {
        nonBlocking?: boolean | undefined;
    }): this;
    /**
     * aten::fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)
     * aten::fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)
     */
    fill_(value: NumberLike | Tensor): this;
    /**
     * aten::zero_(Tensor(a!) self) -> Tensor(a!)
     */
    zero_(): this;
    /**
     * aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor
     */
    toCopy(options?: {
        dtype?: DType | undefined;
        device?: Device | undefined;
        nonBlocking?: boolean | undefined;
    }): Tensor;
    /**
     * aten::type_as(Tensor self, Tensor other) -> Tensor
     */
    typeAs(other: Tensor): Tensor;
    /**
     * aten::set_data(Tensor(a!) self, Tensor new_data) -> ()
     */
    setData(newData: Tensor): void;
    /**
     * aten::resize_(Tensor(a!) self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor(a!)
     */
    resize_(size: readonly NumberLike[]): this;
    /**
     * aten::cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100, float label_smoothing=0.) -> Tensor
     */
    crossEntropyLoss(target: Tensor, weight?: Tensor | null | undefined, reduction?: NumberLike | undefined, ignoreIndex?: NumberLike | undefined, labelSmoothing?: NumberLike | undefined): Tensor;
    /**
     * aten::nll_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) -> Tensor
     */
    nllLoss(target: Tensor, weight?: Tensor | null | undefined, reduction?: NumberLike | undefined, ignoreIndex?: NumberLike | undefined): Tensor;
    /**
     * aten::mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor
     */
    mseLoss(target: Tensor, reduction?: NumberLike | undefined): Tensor;
}
/**
 * aten::dropout(Tensor input, float p, bool train) -> Tensor
 */
export declare function dropout(input: Tensor, p: NumberLike, options: {
    train: boolean;
}): Tensor;
/**
 * aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor
 */
export declare function linear(input: Tensor, weight: Tensor, bias?: Tensor | null | undefined): Tensor;
/**
 * aten::einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor
 */
export declare function einsum(equation: string, tensors: readonly Tensor[], options?: {
    path?: readonly NumberLike[] | undefined;
}): Tensor;
/**
 * aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor
 */
export declare function where(condition: Tensor, self: Tensor, other: Tensor): Tensor;
/**
 * aten::cat(Tensor[] tensors, int dim=0) -> Tensor
 */
export declare function cat(tensors: readonly Tensor[], dim?: NumberLike | undefined): Tensor;
/**
 * aten::stack(Tensor[] tensors, int dim=0) -> Tensor
 */
export declare function stack(tensors: readonly Tensor[], dim?: NumberLike | undefined): Tensor;
/**
 * aten::searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> Tensor
 */
export declare function searchsorted(sortedSequence: Tensor, self: Tensor, options?: {
    outInt32?: boolean | undefined;
    right?: boolean | undefined;
    side?: string | undefined;
    sorter?: Tensor | null | undefined;
}): Tensor;
/**
 * aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor
 */
export declare function embedding(weight: Tensor, indices: Tensor, paddingIdx?: NumberLike | undefined, options?: {
    scaleGradByFreq?: boolean | undefined;
    sparse?: boolean | undefined;
}): Tensor;
/**
 * aten::embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, SymInt padding_idx, bool scale_grad_by_freq) -> Tensor
 */
export declare function embeddingDenseBackward(gradOutput: Tensor, indices: Tensor, numWeights: NumberLike, paddingIdx: NumberLike, options: {
    scaleGradByFreq: boolean;
}): Tensor;
/**
 * aten::empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
 */
export declare function empty(size: readonly NumberLike[], options?: {
    dtype?: DType | undefined;
    device?: Device | undefined;
}): Tensor;
/**
 * aten::zeros(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
 */
export declare function zeros(size: readonly NumberLike[], options?: {
    dtype?: DType | undefined;
    device?: Device | undefined;
}): Tensor;
/**
 * aten::ones(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
 */
export declare function ones(size: readonly NumberLike[], options?: {
    dtype?: DType | undefined;
    device?: Device | undefined;
}): Tensor;
/**
 * aten::full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
 */
export declare function full(size: readonly NumberLike[], fillValue: NumberLike, options?: {
    dtype?: DType | undefined;
    device?: Device | undefined;
}): Tensor;
/**
 * aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
 */
export declare function arange(start: NumberLike, end: NumberLike, step?: NumberLike | undefined, options?: {
    dtype?: DType | undefined;
    device?: Device | undefined;
}): Tensor;
/**
 * aten::rand(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
 * aten::rand.generator(SymInt[] size, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
 */
export declare function rand(size: readonly NumberLike[], options?: {
    dtype?: DType | undefined;
    device?: Device | undefined;
    generator?: RandomGenerator | undefined;
}): Tensor;
/**
 * aten::randn(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
 * aten::randn.generator(SymInt[] size, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
 */
export declare function randn(size: readonly NumberLike[], options?: {
    dtype?: DType | undefined;
    device?: Device | undefined;
    generator?: RandomGenerator | undefined;
}): Tensor;
/**
 * aten::randint.low(SymInt low, SymInt high, SymInt[] size, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
 * aten::randint.low_generator(SymInt low, SymInt high, SymInt[] size, *, Generator? generator, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
 */
export declare function randint(low: NumberLike, high: NumberLike, size: readonly NumberLike[], options?: {
    dtype?: DType | undefined;
    device?: Device | undefined;
    generator?: RandomGenerator | undefined;
}): Tensor;
/**
 * aten::randperm(SymInt n, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
 * aten::randperm.generator(SymInt n, *, Generator? generator, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
 */
export declare function randperm(n: NumberLike, options?: {
    dtype?: DType | undefined;
    device?: Device | undefined;
    generator?: RandomGenerator | undefined;
}): Tensor;
/**
 * aten::eye(SymInt n, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
 */
export declare function eye(n: NumberLike, options?: {
    dtype?: DType | undefined;
    device?: Device | undefined;
}): Tensor;
/**
 * aten::layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1.0000000000000001e-05, bool cudnn_enable=True) -> Tensor
 */
export declare function layerNorm(input: Tensor, normalizedShape: readonly NumberLike[], weight?: Tensor | null | undefined, bias?: Tensor | null | undefined, eps?: NumberLike | undefined, options?: {
    cudnnEnable?: boolean | undefined;
}): Tensor;
/**
 * aten::rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor
 */
export declare function rmsNorm(input: Tensor, normalizedShape: readonly NumberLike[], weight?: Tensor | null | undefined, eps?: NumberLike | undefined): Tensor;
/**
 * aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0., bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor
 */
export declare function scaledDotProductAttention(query: Tensor, key: Tensor, value: Tensor, attnMask?: Tensor | null | undefined, dropoutP?: NumberLike | undefined, options?: {
    isCausal?: boolean | undefined;
    scale?: NumberLike | undefined;
    enableGqa?: boolean | undefined;
}): Tensor;
/**
 * aten::_flash_attention_forward(Tensor query, Tensor key, Tensor value, Tensor? cum_seq_q, Tensor? cum_seq_k, SymInt max_q, SymInt max_k, float dropout_p, bool is_causal, bool return_debug_mask, *, float? scale=None, SymInt? window_size_left=None, SymInt? window_size_right=None, Tensor? seqused_k=None, Tensor? alibi_slopes=None, Tensor? block_table=None, int? num_splits=None) -> (Tensor output, Tensor softmax_logsumexp, Tensor rng_state, Tensor unused, Tensor debug_attn_mask)
 */
export declare function flashAttentionForward(query: Tensor, key: Tensor, value: Tensor, cumSeqQ: Tensor | null, cumSeqK: Tensor | null, maxQ: NumberLike, maxK: NumberLike, dropoutP: NumberLike, options: {
    isCausal: boolean;
    returnDebugMask: boolean;
    scale?: NumberLike | undefined;
    windowSizeLeft?: NumberLike | undefined;
    windowSizeRight?: NumberLike | undefined;
    sequsedK?: Tensor | null | undefined;
    alibiSlopes?: Tensor | null | undefined;
    blockTable?: Tensor | null | undefined;
    numSplits?: NumberLike | undefined;
}): [Tensor, Tensor, Tensor, Tensor, Tensor];
/**
 * aten::_flash_attention_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, float dropout_p, bool is_causal, Tensor rng_state, Tensor unused, *, float? scale=None, SymInt? window_size_left=None, SymInt? window_size_right=None) -> (Tensor, Tensor, Tensor)
 */
export declare function flashAttentionBackward(gradOut: Tensor, query: Tensor, key: Tensor, value: Tensor, out: Tensor, logsumexp: Tensor, cumSeqQ: Tensor, cumSeqK: Tensor, maxQ: NumberLike, maxK: NumberLike, dropoutP: NumberLike, options: {
    isCausal: boolean;
    rngState: Tensor;
    unused: Tensor;
    scale?: NumberLike | undefined;
    windowSizeLeft?: NumberLike | undefined;
    windowSizeRight?: NumberLike | undefined;
}): [Tensor, Tensor, Tensor];
/**
 * aten::_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float dropout_p=0., bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)
 */
export declare function scaledDotProductFlashAttentionCpu(query: Tensor, key: Tensor, value: Tensor, dropoutP?: NumberLike | undefined, options?: {
    isCausal?: boolean | undefined;
    attnMask?: Tensor | null | undefined;
    scale?: NumberLike | undefined;
}): [Tensor, Tensor];
/**
 * aten::_scaled_dot_product_flash_attention_for_cpu_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out, Tensor logsumexp, float dropout_p, bool is_causal, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor grad_query, Tensor grad_key, Tensor grad_value)
 */
export declare function scaledDotProductFlashAttentionCpuBackward(gradOut: Tensor, query: Tensor, key: Tensor, value: Tensor, out: Tensor, logsumexp: Tensor, dropoutP: NumberLike, options: {
    isCausal: boolean;
    attnMask?: Tensor | null | undefined;
    scale?: NumberLike | undefined;
}): [Tensor, Tensor, Tensor];
/**
 * aten::conv1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], SymInt[1] padding=[0], SymInt[1] dilation=[1], SymInt groups=1) -> Tensor
 */
export declare function conv1d(input: Tensor, weight: Tensor, bias?: Tensor | null | undefined, stride?: readonly NumberLike[] | NumberLike | undefined, padding?: readonly NumberLike[] | NumberLike | undefined, dilation?: readonly NumberLike[] | NumberLike | undefined, groups?: NumberLike | undefined): Tensor;
/**
 * aten::conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] padding=[0, 0], SymInt[2] dilation=[1, 1], SymInt groups=1) -> Tensor
 */
export declare function conv2d(input: Tensor, weight: Tensor, bias?: Tensor | null | undefined, stride?: readonly NumberLike[] | NumberLike | undefined, padding?: readonly NumberLike[] | NumberLike | undefined, dilation?: readonly NumberLike[] | NumberLike | undefined, groups?: NumberLike | undefined): Tensor;
/**
 * aten::conv3d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], SymInt[3] padding=[0, 0, 0], SymInt[3] dilation=[1, 1, 1], SymInt groups=1) -> Tensor
 */
export declare function conv3d(input: Tensor, weight: Tensor, bias?: Tensor | null | undefined, stride?: readonly NumberLike[] | NumberLike | undefined, padding?: readonly NumberLike[] | NumberLike | undefined, dilation?: readonly NumberLike[] | NumberLike | undefined, groups?: NumberLike | undefined): Tensor;
/**
 * aten::silu_backward(Tensor grad_output, Tensor self) -> Tensor
 */
export declare function siluBackward(gradOutput: Tensor, self: Tensor): Tensor;
/**
 * aten::silu_backward.grad_input(Tensor grad_output, Tensor self, *, Tensor(a!) grad_input) -> Tensor(a!)
 */
export declare function siluBackwardOut(gradOutput: Tensor, self: Tensor, options: {
    gradInput: Tensor;
}): void;
/**
 * aten::_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor
 */
export declare function softmaxBackward(gradOutput: Tensor, output: Tensor, dim: NumberLike, options: {
    inputDtype: DType;
}): Tensor;
/**
 * aten::_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor
 */
export declare function logSoftmaxBackward(gradOutput: Tensor, output: Tensor, dim: NumberLike, options: {
    inputDtype: DType;
}): Tensor;
/**
 * aten::_foreach_mul_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()
 * aten::_foreach_mul_.Tensor(Tensor(a!)[] self, Tensor other) -> ()
 */
export declare function foreachMul_(self: readonly Tensor[], scalar: NumberLike | Tensor): void;
/**
 * aten::_foreach_add_.List(Tensor(a!)[] self, Tensor[] other, *, Scalar alpha=1) -> ()
 * aten::_foreach_add_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()
 */
export declare function foreachAdd_(self: readonly Tensor[], other: readonly Tensor[] | NumberLike, options?: {
    alpha?: NumberLike | undefined;
}): void;
/**
 * aten::_foreach_norm.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) -> Tensor[]
 */
export declare function foreachNorm(self: readonly Tensor[], ord?: NumberLike | undefined, options?: {
    dtype?: DType | undefined;
}): Tensor[];
/**
 * aten::_foreach_copy_(Tensor(a!)[] self, Tensor[] src, bool non_blocking=False) -> ()
 */
export declare function foreachCopy_(self: readonly Tensor[], src: readonly Tensor[], options?: {
    nonBlocking?: boolean | undefined;
}): void;
/**
 * aten::_foreach_zero_(Tensor(a!)[] self) -> ()
 */
export declare function foreachZero_(self: readonly Tensor[]): void;
/**
 * aten::_foreach_sqrt(Tensor[] self) -> Tensor[]
 */
export declare function foreachSqrt(self: readonly Tensor[]): Tensor[];
/**
 * aten::_foreach_div_.List(Tensor(a!)[] self, Tensor[] other) -> ()
 */
export declare function foreachDiv_(self: readonly Tensor[], other: readonly Tensor[]): void;
/**
 * aten::_foreach_addcdiv_.Scalar(Tensor(a!)[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar value=1) -> ()
 */
export declare function foreachAddcdiv_(self: readonly Tensor[], tensor1: readonly Tensor[], tensor2: readonly Tensor[], value?: NumberLike | undefined): void;
/**
 * aten::_foreach_addcmul_.Scalar(Tensor(a!)[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar value=1) -> ()
 */
export declare function foreachAddcmul_(self: readonly Tensor[], tensor1: readonly Tensor[], tensor2: readonly Tensor[], value?: NumberLike | undefined): void;
/**
 * aten::_foreach_lerp_.Scalar(Tensor(a!)[] self, Tensor[] tensors1, Scalar weight) -> ()
 */
export declare function foreachLerp_(self: readonly Tensor[], tensors1: readonly Tensor[], weight: NumberLike): void;
/**
 * aten::_fused_adamw_(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] exp_avgs, Tensor(d!)[] exp_avg_sqs, Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, *, float lr, float beta1, float beta2, float weight_decay, float eps, bool amsgrad, bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()
 */
export declare function fusedAdamw_(self: readonly Tensor[], grads: readonly Tensor[], expAvgs: readonly Tensor[], expAvgSqs: readonly Tensor[], maxExpAvgSqs: readonly Tensor[], stateSteps: readonly Tensor[], options: {
    lr: NumberLike;
    beta1: NumberLike;
    beta2: NumberLike;
    weightDecay: NumberLike;
    eps: NumberLike;
    amsgrad: boolean;
    maximize: boolean;
    gradScale?: Tensor | null | undefined;
    foundInf?: Tensor | null | undefined;
}): void;
/**
 * aten::_fused_sgd_(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] momentum_buffer_list, *, float weight_decay, float momentum, float lr, float dampening, bool nesterov, bool maximize, bool is_first_step, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()
 */
export declare function fusedSgd_(self: readonly Tensor[], grads: readonly Tensor[], momentumBufferList: readonly Tensor[], options: {
    weightDecay: NumberLike;
    momentum: NumberLike;
    lr: NumberLike;
    dampening: NumberLike;
    nesterov: boolean;
    maximize: boolean;
    isFirstStep: boolean;
    gradScale?: Tensor | null | undefined;
    foundInf?: Tensor | null | undefined;
}): void;
