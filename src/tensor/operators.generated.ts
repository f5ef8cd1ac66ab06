// Written by tools/generate-operators.mjs from operators.txt and the schemas of libtorch 2.13. Do not edit.
import { arg, argDevice, argDtype, begin, type NumberLike, operator, Ref, Sym, toList, toNothing, toScalar, toSeveral, toTensor } from './call.js'
import type { Device, DType } from './dtype.js'
import type { RandomGenerator } from './random.js'
import type { Tensor } from './tensor.js'

const isTensor = (value: unknown): boolean => value instanceof Ref && !(value instanceof Sym)
const isNumber = (value: unknown): boolean => typeof value === 'number' || typeof value === 'bigint' || value instanceof Sym

const op_add_Tensor = operator('add', 'Tensor', 'self,other,alpha')
const op_add_Scalar = operator('add', 'Scalar', 'self,other,alpha')
const op_add__Tensor = operator('add_', 'Tensor', 'self,other,alpha')
const op_add__Scalar = operator('add_', 'Scalar', 'self,other,alpha')
const op_sub_Tensor = operator('sub', 'Tensor', 'self,other,alpha')
const op_sub_Scalar = operator('sub', 'Scalar', 'self,other,alpha')
const op_sub__Tensor = operator('sub_', 'Tensor', 'self,other,alpha')
const op_sub__Scalar = operator('sub_', 'Scalar', 'self,other,alpha')
const op_mul_Tensor = operator('mul', 'Tensor', 'self,other')
const op_mul_Scalar = operator('mul', 'Scalar', 'self,other')
const op_mul__Tensor = operator('mul_', 'Tensor', 'self,other')
const op_mul__Scalar = operator('mul_', 'Scalar', 'self,other')
const op_mul_out = operator('mul', 'out', 'self,other,out')
const op_div_Tensor = operator('div', 'Tensor', 'self,other')
const op_div_Scalar = operator('div', 'Scalar', 'self,other')
const op_div_Tensor_mode = operator('div', 'Tensor_mode', 'self,other,rounding_mode')
const op_div_Scalar_mode = operator('div', 'Scalar_mode', 'self,other,rounding_mode')
const op_div__Tensor = operator('div_', 'Tensor', 'self,other')
const op_div__Scalar = operator('div_', 'Scalar', 'self,other')
const op_remainder_Tensor = operator('remainder', 'Tensor', 'self,other')
const op_remainder_Scalar = operator('remainder', 'Scalar', 'self,other')
const op_pow_Tensor_Scalar = operator('pow', 'Tensor_Scalar', 'self,exponent')
const op_pow_Tensor_Tensor = operator('pow', 'Tensor_Tensor', 'self,exponent')
const op_neg = operator('neg', '', 'self')
const op_abs = operator('abs', '', 'self')
const op_exp = operator('exp', '', 'self')
const op_exp_ = operator('exp_', '', 'self')
const op_log = operator('log', '', 'self')
const op_log1p = operator('log1p', '', 'self')
const op_expm1 = operator('expm1', '', 'self')
const op_sqrt = operator('sqrt', '', 'self')
const op_rsqrt = operator('rsqrt', '', 'self')
const op_reciprocal = operator('reciprocal', '', 'self')
const op_square = operator('square', '', 'self')
const op_sin = operator('sin', '', 'self')
const op_cos = operator('cos', '', 'self')
const op_tanh = operator('tanh', '', 'self')
const op_sigmoid = operator('sigmoid', '', 'self')
const op_erf = operator('erf', '', 'self')
const op_floor = operator('floor', '', 'self')
const op_round = operator('round', '', 'self')
const op_sign = operator('sign', '', 'self')
const op_clamp = operator('clamp', '', 'self,min,max')
const op_clamp_Tensor = operator('clamp', 'Tensor', 'self,min,max')
const op_maximum = operator('maximum', '', 'self,other')
const op_minimum = operator('minimum', '', 'self,other')
const op_addcmul_ = operator('addcmul_', '', 'self,tensor1,tensor2,value')
const op_nan_to_num = operator('nan_to_num', '', 'self,nan,posinf,neginf')
const op_relu = operator('relu', '', 'self')
const op_silu = operator('silu', '', 'self')
const op_silu_out = operator('silu', 'out', 'self,out')
const op_gelu = operator('gelu', '', 'self,approximate')
const op_softmax_int = operator('softmax', 'int', 'self,dim,dtype')
const op_log_softmax_int = operator('log_softmax', 'int', 'self,dim,dtype')
const op_dropout = operator('dropout', '', 'input,p,train')
const op_matmul = operator('matmul', '', 'self,other')
const op_mm = operator('mm', '', 'self,mat2')
const op_bmm = operator('bmm', '', 'self,mat2')
const op_addmm_ = operator('addmm_', '', 'self,mat1,mat2,beta,alpha')
const op_baddbmm = operator('baddbmm', '', 'self,batch1,batch2,beta,alpha')
const op_linear = operator('linear', '', 'input,weight,bias')
const op_einsum = operator('einsum', '', 'equation,tensors,path')
const op_sum = operator('sum', '', 'self,dtype')
const op_sum_dim_IntList = operator('sum', 'dim_IntList', 'self,dim,keepdim,dtype')
const op_mean = operator('mean', '', 'self,dtype')
const op_mean_dim = operator('mean', 'dim', 'self,dim,keepdim,dtype')
const op_std = operator('std', '', 'self,unbiased')
const op_std_correction = operator('std', 'correction', 'self,dim,correction,keepdim')
const op_var = operator('var', '', 'self,unbiased')
const op_var_correction = operator('var', 'correction', 'self,dim,correction,keepdim')
const op_max = operator('max', '', 'self')
const op_max_dim = operator('max', 'dim', 'self,dim,keepdim')
const op_min = operator('min', '', 'self')
const op_min_dim = operator('min', 'dim', 'self,dim,keepdim')
const op_amax = operator('amax', '', 'self,dim,keepdim')
const op_amin = operator('amin', '', 'self,dim,keepdim')
const op_argmax = operator('argmax', '', 'self,dim,keepdim')
const op_argmin = operator('argmin', '', 'self,dim,keepdim')
const op_logsumexp = operator('logsumexp', '', 'self,dim,keepdim')
const op_cumsum = operator('cumsum', '', 'self,dim,dtype')
const op_prod = operator('prod', '', 'self,dtype')
const op_prod_dim_int = operator('prod', 'dim_int', 'self,dim,keepdim,dtype')
const op_linalg_vector_norm = operator('linalg_vector_norm', '', 'self,ord,dim,keepdim,dtype')
const op_any = operator('any', '', 'self')
const op_any_dim = operator('any', 'dim', 'self,dim,keepdim')
const op_all = operator('all', '', 'self')
const op_all_dim = operator('all', 'dim', 'self,dim,keepdim')
const op_topk = operator('topk', '', 'self,k,dim,largest,sorted')
const op_sort = operator('sort', '', 'self,dim,descending')
const op_argsort = operator('argsort', '', 'self,dim,descending')
const op_eq_Tensor = operator('eq', 'Tensor', 'self,other')
const op_eq_Scalar = operator('eq', 'Scalar', 'self,other')
const op_ne_Tensor = operator('ne', 'Tensor', 'self,other')
const op_ne_Scalar = operator('ne', 'Scalar', 'self,other')
const op_lt_Tensor = operator('lt', 'Tensor', 'self,other')
const op_lt_Scalar = operator('lt', 'Scalar', 'self,other')
const op_le_Tensor = operator('le', 'Tensor', 'self,other')
const op_le_Scalar = operator('le', 'Scalar', 'self,other')
const op_gt_Tensor = operator('gt', 'Tensor', 'self,other')
const op_gt_Scalar = operator('gt', 'Scalar', 'self,other')
const op_ge_Tensor = operator('ge', 'Tensor', 'self,other')
const op_ge_Scalar = operator('ge', 'Scalar', 'self,other')
const op_logical_and = operator('logical_and', '', 'self,other')
const op_logical_or = operator('logical_or', '', 'self,other')
const op_logical_not = operator('logical_not', '', 'self')
const op_isnan = operator('isnan', '', 'self')
const op_isinf = operator('isinf', '', 'self')
const op_isfinite = operator('isfinite', '', 'self')
const op_where_self = operator('where', 'self', 'condition,self,other')
const op_masked_fill_Scalar = operator('masked_fill', 'Scalar', 'self,mask,value')
const op_masked_fill_Tensor = operator('masked_fill', 'Tensor', 'self,mask,value')
const op_allclose = operator('allclose', '', 'self,other,rtol,atol,equal_nan')
const op_equal = operator('equal', '', 'self,other')
const op_view = operator('view', '', 'self,size')
const op_view_dtype = operator('view', 'dtype', 'self,dtype')
const op_reshape = operator('reshape', '', 'self,shape')
const op_flatten_using_ints = operator('flatten', 'using_ints', 'self,start_dim,end_dim')
const op_unflatten_int = operator('unflatten', 'int', 'self,dim,sizes')
const op_squeeze = operator('squeeze', '', 'self')
const op_squeeze_dim = operator('squeeze', 'dim', 'self,dim')
const op_unsqueeze = operator('unsqueeze', '', 'self,dim')
const op_transpose_int = operator('transpose', 'int', 'self,dim0,dim1')
const op_t = operator('t', '', 'self')
const op_permute = operator('permute', '', 'self,dims')
const op_expand = operator('expand', '', 'self,size,implicit')
const op_repeat = operator('repeat', '', 'self,repeats')
const op_repeat_interleave_self_int = operator('repeat_interleave', 'self_int', 'self,repeats,dim,output_size')
const op_repeat_interleave_self_Tensor = operator('repeat_interleave', 'self_Tensor', 'self,repeats,dim,output_size')
const op_contiguous = operator('contiguous', '', 'self,memory_format')
const op_cat = operator('cat', '', 'tensors,dim')
const op_stack = operator('stack', '', 'tensors,dim')
const op_split_Tensor = operator('split', 'Tensor', 'self,split_size,dim')
const op_chunk = operator('chunk', '', 'self,chunks,dim')
const op_unbind_int = operator('unbind', 'int', 'self,dim')
const op_roll = operator('roll', '', 'self,shifts,dims')
const op_flip = operator('flip', '', 'self,dims')
const op_constant_pad_nd = operator('constant_pad_nd', '', 'self,pad,value')
const op_tril = operator('tril', '', 'self,diagonal')
const op_triu = operator('triu', '', 'self,diagonal')
const op_diagonal = operator('diagonal', '', 'self,offset,dim1,dim2')
const op_select_int = operator('select', 'int', 'self,dim,index')
const op_slice_Tensor = operator('slice', 'Tensor', 'self,dim,start,end,step')
const op_narrow = operator('narrow', '', 'self,dim,start,length')
const op_index_select = operator('index_select', '', 'self,dim,index')
const op_index_add_ = operator('index_add_', '', 'self,dim,index,source,alpha')
const op_index_copy_ = operator('index_copy_', '', 'self,dim,index,source')
const op_gather = operator('gather', '', 'self,dim,index,sparse_grad')
const op_scatter_src = operator('scatter', 'src', 'self,dim,index,src')
const op_scatter_value = operator('scatter', 'value', 'self,dim,index,value')
const op_scatter_add_ = operator('scatter_add_', '', 'self,dim,index,src')
const op_index_Tensor = operator('index', 'Tensor', 'self,indices')
const op_index_put_ = operator('index_put_', '', 'self,indices,values,accumulate')
const op_nonzero = operator('nonzero', '', 'self')
const op_embedding = operator('embedding', '', 'weight,indices,padding_idx,scale_grad_by_freq,sparse')
const op_empty_memory_format = operator('empty', 'memory_format', 'size,dtype,layout,device,pin_memory,memory_format')
const op_empty_like = operator('empty_like', '', 'self,dtype,layout,device,pin_memory,memory_format')
const op_zeros = operator('zeros', '', 'size,dtype,layout,device,pin_memory')
const op_zeros_like = operator('zeros_like', '', 'self,dtype,layout,device,pin_memory,memory_format')
const op_ones = operator('ones', '', 'size,dtype,layout,device,pin_memory')
const op_ones_like = operator('ones_like', '', 'self,dtype,layout,device,pin_memory,memory_format')
const op_full = operator('full', '', 'size,fill_value,dtype,layout,device,pin_memory')
const op_new_zeros = operator('new_zeros', '', 'self,size,dtype,layout,device,pin_memory')
const op_new_empty = operator('new_empty', '', 'self,size,dtype,layout,device,pin_memory')
const op_full_like = operator('full_like', '', 'self,fill_value,dtype,layout,device,pin_memory,memory_format')
const op_arange_start_step = operator('arange', 'start_step', 'start,end,step,dtype,layout,device,pin_memory')
const op_rand = operator('rand', '', 'size,dtype,layout,device,pin_memory')
const op_rand_generator = operator('rand', 'generator', 'size,generator,dtype,layout,device,pin_memory')
const op_randn = operator('randn', '', 'size,dtype,layout,device,pin_memory')
const op_randn_generator = operator('randn', 'generator', 'size,generator,dtype,layout,device,pin_memory')
const op_randint_low = operator('randint', 'low', 'low,high,size,dtype,layout,device,pin_memory')
const op_randint_low_generator = operator('randint', 'low_generator', 'low,high,size,generator,dtype,layout,device,pin_memory')
const op_randperm = operator('randperm', '', 'n,dtype,layout,device,pin_memory')
const op_randperm_generator = operator('randperm', 'generator', 'n,generator,dtype,layout,device,pin_memory')
const op_multinomial = operator('multinomial', '', 'self,num_samples,replacement,generator')
const op_bernoulli = operator('bernoulli', '', 'self,generator')
const op_bernoulli_p = operator('bernoulli', 'p', 'self,p,generator')
const op_uniform_ = operator('uniform_', '', 'self,from,to,generator')
const op_normal_ = operator('normal_', '', 'self,mean,std,generator')
const op_exponential_ = operator('exponential_', '', 'self,lambd,generator')
const op_eye = operator('eye', '', 'n,dtype,layout,device,pin_memory')
const op_clone = operator('clone', '', 'self,memory_format')
const op_detach = operator('detach', '', 'self')
const op_copy_ = operator('copy_', '', 'self,src,non_blocking')
const op_fill__Scalar = operator('fill_', 'Scalar', 'self,value')
const op_fill__Tensor = operator('fill_', 'Tensor', 'self,value')
const op__to_copy = operator('_to_copy', '', 'self,dtype,layout,device,pin_memory,non_blocking,memory_format')
const op_type_as = operator('type_as', '', 'self,other')
const op_set_data = operator('set_data', '', 'self,new_data')
const op_resize_ = operator('resize_', '', 'self,size,memory_format')
const op_layer_norm = operator('layer_norm', '', 'input,normalized_shape,weight,bias,eps,cudnn_enable')
const op_rms_norm = operator('rms_norm', '', 'input,normalized_shape,weight,eps')
const op_scaled_dot_product_attention = operator('scaled_dot_product_attention', '', 'query,key,value,attn_mask,dropout_p,is_causal,scale,enable_gqa')
const op__flash_attention_forward = operator('_flash_attention_forward', '', 'query,key,value,cum_seq_q,cum_seq_k,max_q,max_k,dropout_p,is_causal,return_debug_mask,scale,window_size_left,window_size_right,seqused_k,alibi_slopes,block_table,num_splits')
const op_conv1d = operator('conv1d', '', 'input,weight,bias,stride,padding,dilation,groups')
const op_conv2d = operator('conv2d', '', 'input,weight,bias,stride,padding,dilation,groups')
const op_conv3d = operator('conv3d', '', 'input,weight,bias,stride,padding,dilation,groups')
const op_cross_entropy_loss = operator('cross_entropy_loss', '', 'self,target,weight,reduction,ignore_index,label_smoothing')
const op_silu_backward_grad_input = operator('silu_backward', 'grad_input', 'grad_output,self,grad_input')
const op__softmax_backward_data = operator('_softmax_backward_data', '', 'grad_output,output,dim,input_dtype')
const op__foreach_mul__Scalar = operator('_foreach_mul_', 'Scalar', 'self,scalar')
const op__foreach_mul__Tensor = operator('_foreach_mul_', 'Tensor', 'self,other')
const op__foreach_add__List = operator('_foreach_add_', 'List', 'self,other,alpha')
const op__foreach_add__Scalar = operator('_foreach_add_', 'Scalar', 'self,scalar')
const op__foreach_norm_Scalar = operator('_foreach_norm', 'Scalar', 'self,ord,dtype')
const op__foreach_copy_ = operator('_foreach_copy_', '', 'self,src,non_blocking')
const op__fused_adamw_ = operator('_fused_adamw_', '', 'self,grads,exp_avgs,exp_avg_sqs,max_exp_avg_sqs,state_steps,lr,beta1,beta2,weight_decay,eps,amsgrad,maximize,grad_scale,found_inf')

/** The operators that have a tensor as their first argument. */
export abstract class TensorOperators extends Ref {
  /**
   * aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
   * aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor
   */
  add(other: Tensor | NumberLike, options: { alpha?: NumberLike | undefined } = {}): Tensor {
    if (isTensor(other)) {
      begin(op_add_Tensor)
      arg(this)
      arg(other)
      arg(options.alpha)
      return toTensor(op_add_Tensor) as Tensor
    }
    begin(op_add_Scalar)
    arg(this)
    arg(other)
    arg(options.alpha)
    return toTensor(op_add_Scalar) as Tensor
  }

  /**
   * aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)
   * aten::add_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1) -> Tensor(a!)
   */
  add_(other: Tensor | NumberLike, options: { alpha?: NumberLike | undefined } = {}): this {
    if (isTensor(other)) {
      begin(op_add__Tensor)
      arg(this)
      arg(other)
      arg(options.alpha)
      toNothing(op_add__Tensor)
      return this
    }
    begin(op_add__Scalar)
    arg(this)
    arg(other)
    arg(options.alpha)
    toNothing(op_add__Scalar)
    return this
  }

  /**
   * aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
   * aten::sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor
   */
  sub(other: Tensor | NumberLike, options: { alpha?: NumberLike | undefined } = {}): Tensor {
    if (isTensor(other)) {
      begin(op_sub_Tensor)
      arg(this)
      arg(other)
      arg(options.alpha)
      return toTensor(op_sub_Tensor) as Tensor
    }
    begin(op_sub_Scalar)
    arg(this)
    arg(other)
    arg(options.alpha)
    return toTensor(op_sub_Scalar) as Tensor
  }

  /**
   * aten::sub_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)
   * aten::sub_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1) -> Tensor(a!)
   */
  sub_(other: Tensor | NumberLike, options: { alpha?: NumberLike | undefined } = {}): this {
    if (isTensor(other)) {
      begin(op_sub__Tensor)
      arg(this)
      arg(other)
      arg(options.alpha)
      toNothing(op_sub__Tensor)
      return this
    }
    begin(op_sub__Scalar)
    arg(this)
    arg(other)
    arg(options.alpha)
    toNothing(op_sub__Scalar)
    return this
  }

  /**
   * aten::mul.Tensor(Tensor self, Tensor other) -> Tensor
   * aten::mul.Scalar(Tensor self, Scalar other) -> Tensor
   */
  mul(other: Tensor | NumberLike): Tensor {
    if (isTensor(other)) {
      begin(op_mul_Tensor)
      arg(this)
      arg(other)
      return toTensor(op_mul_Tensor) as Tensor
    }
    begin(op_mul_Scalar)
    arg(this)
    arg(other)
    return toTensor(op_mul_Scalar) as Tensor
  }

  /**
   * aten::mul_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
   * aten::mul_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
   */
  mul_(other: Tensor | NumberLike): this {
    if (isTensor(other)) {
      begin(op_mul__Tensor)
      arg(this)
      arg(other)
      toNothing(op_mul__Tensor)
      return this
    }
    begin(op_mul__Scalar)
    arg(this)
    arg(other)
    toNothing(op_mul__Scalar)
    return this
  }

  /** aten::mul.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!) */
  mulOut(other: Tensor, options: { out: Tensor }): void {
    begin(op_mul_out)
    arg(this)
    arg(other)
    arg(options.out)
    toNothing(op_mul_out)
    return
  }

  /**
   * aten::div.Tensor(Tensor self, Tensor other) -> Tensor
   * aten::div.Scalar(Tensor self, Scalar other) -> Tensor
   * aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor
   * aten::div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor
   */
  div(other: Tensor | NumberLike, options: { roundingMode?: string | undefined } = {}): Tensor {
    if (isTensor(other) && options.roundingMode === undefined) {
      begin(op_div_Tensor)
      arg(this)
      arg(other)
      return toTensor(op_div_Tensor) as Tensor
    }
    if (isNumber(other) && options.roundingMode === undefined) {
      begin(op_div_Scalar)
      arg(this)
      arg(other)
      return toTensor(op_div_Scalar) as Tensor
    }
    if (isTensor(other) && options.roundingMode !== undefined) {
      begin(op_div_Tensor_mode)
      arg(this)
      arg(other)
      arg(options.roundingMode)
      return toTensor(op_div_Tensor_mode) as Tensor
    }
    begin(op_div_Scalar_mode)
    arg(this)
    arg(other)
    arg(options.roundingMode)
    return toTensor(op_div_Scalar_mode) as Tensor
  }

  /**
   * aten::div_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
   * aten::div_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
   */
  div_(other: Tensor | NumberLike): this {
    if (isTensor(other)) {
      begin(op_div__Tensor)
      arg(this)
      arg(other)
      toNothing(op_div__Tensor)
      return this
    }
    begin(op_div__Scalar)
    arg(this)
    arg(other)
    toNothing(op_div__Scalar)
    return this
  }

  /**
   * aten::remainder.Tensor(Tensor self, Tensor other) -> Tensor
   * aten::remainder.Scalar(Tensor self, Scalar other) -> Tensor
   */
  remainder(other: Tensor | NumberLike): Tensor {
    if (isTensor(other)) {
      begin(op_remainder_Tensor)
      arg(this)
      arg(other)
      return toTensor(op_remainder_Tensor) as Tensor
    }
    begin(op_remainder_Scalar)
    arg(this)
    arg(other)
    return toTensor(op_remainder_Scalar) as Tensor
  }

  /**
   * aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor
   * aten::pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor
   */
  pow(exponent: NumberLike | Tensor): Tensor {
    if (isNumber(exponent)) {
      begin(op_pow_Tensor_Scalar)
      arg(this)
      arg(exponent)
      return toTensor(op_pow_Tensor_Scalar) as Tensor
    }
    begin(op_pow_Tensor_Tensor)
    arg(this)
    arg(exponent)
    return toTensor(op_pow_Tensor_Tensor) as Tensor
  }

  /** aten::neg(Tensor self) -> Tensor */
  neg(): Tensor {
    begin(op_neg)
    arg(this)
    return toTensor(op_neg) as Tensor
  }

  /** aten::abs(Tensor self) -> Tensor */
  abs(): Tensor {
    begin(op_abs)
    arg(this)
    return toTensor(op_abs) as Tensor
  }

  /** aten::exp(Tensor self) -> Tensor */
  exp(): Tensor {
    begin(op_exp)
    arg(this)
    return toTensor(op_exp) as Tensor
  }

  /** aten::exp_(Tensor(a!) self) -> Tensor(a!) */
  exp_(): this {
    begin(op_exp_)
    arg(this)
    toNothing(op_exp_)
    return this
  }

  /** aten::log(Tensor self) -> Tensor */
  log(): Tensor {
    begin(op_log)
    arg(this)
    return toTensor(op_log) as Tensor
  }

  /** aten::log1p(Tensor self) -> Tensor */
  log1p(): Tensor {
    begin(op_log1p)
    arg(this)
    return toTensor(op_log1p) as Tensor
  }

  /** aten::expm1(Tensor self) -> Tensor */
  expm1(): Tensor {
    begin(op_expm1)
    arg(this)
    return toTensor(op_expm1) as Tensor
  }

  /** aten::sqrt(Tensor self) -> Tensor */
  sqrt(): Tensor {
    begin(op_sqrt)
    arg(this)
    return toTensor(op_sqrt) as Tensor
  }

  /** aten::rsqrt(Tensor self) -> Tensor */
  rsqrt(): Tensor {
    begin(op_rsqrt)
    arg(this)
    return toTensor(op_rsqrt) as Tensor
  }

  /** aten::reciprocal(Tensor self) -> Tensor */
  reciprocal(): Tensor {
    begin(op_reciprocal)
    arg(this)
    return toTensor(op_reciprocal) as Tensor
  }

  /** aten::square(Tensor self) -> Tensor */
  square(): Tensor {
    begin(op_square)
    arg(this)
    return toTensor(op_square) as Tensor
  }

  /** aten::sin(Tensor self) -> Tensor */
  sin(): Tensor {
    begin(op_sin)
    arg(this)
    return toTensor(op_sin) as Tensor
  }

  /** aten::cos(Tensor self) -> Tensor */
  cos(): Tensor {
    begin(op_cos)
    arg(this)
    return toTensor(op_cos) as Tensor
  }

  /** aten::tanh(Tensor self) -> Tensor */
  tanh(): Tensor {
    begin(op_tanh)
    arg(this)
    return toTensor(op_tanh) as Tensor
  }

  /** aten::sigmoid(Tensor self) -> Tensor */
  sigmoid(): Tensor {
    begin(op_sigmoid)
    arg(this)
    return toTensor(op_sigmoid) as Tensor
  }

  /** aten::erf(Tensor self) -> Tensor */
  erf(): Tensor {
    begin(op_erf)
    arg(this)
    return toTensor(op_erf) as Tensor
  }

  /** aten::floor(Tensor self) -> Tensor */
  floor(): Tensor {
    begin(op_floor)
    arg(this)
    return toTensor(op_floor) as Tensor
  }

  /** aten::round(Tensor self) -> Tensor */
  round(): Tensor {
    begin(op_round)
    arg(this)
    return toTensor(op_round) as Tensor
  }

  /** aten::sign(Tensor self) -> Tensor */
  sign(): Tensor {
    begin(op_sign)
    arg(this)
    return toTensor(op_sign) as Tensor
  }

  /**
   * aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor
   * aten::clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor
   */
  clamp(min?: NumberLike | Tensor | null | undefined, max?: NumberLike | Tensor | null | undefined): Tensor {
    if ((min == null || isNumber(min)) && (max == null || isNumber(max))) {
      begin(op_clamp)
      arg(this)
      arg(min)
      arg(max)
      return toTensor(op_clamp) as Tensor
    }
    begin(op_clamp_Tensor)
    arg(this)
    arg(min)
    arg(max)
    return toTensor(op_clamp_Tensor) as Tensor
  }

  /** aten::maximum(Tensor self, Tensor other) -> Tensor */
  maximum(other: Tensor): Tensor {
    begin(op_maximum)
    arg(this)
    arg(other)
    return toTensor(op_maximum) as Tensor
  }

  /** aten::minimum(Tensor self, Tensor other) -> Tensor */
  minimum(other: Tensor): Tensor {
    begin(op_minimum)
    arg(this)
    arg(other)
    return toTensor(op_minimum) as Tensor
  }

  /** aten::addcmul_(Tensor(a!) self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor(a!) */
  addcmul_(tensor1: Tensor, tensor2: Tensor, options: { value?: NumberLike | undefined } = {}): this {
    begin(op_addcmul_)
    arg(this)
    arg(tensor1)
    arg(tensor2)
    arg(options.value)
    toNothing(op_addcmul_)
    return this
  }

  /** aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor */
  nanToNum(nan?: NumberLike | undefined, posinf?: NumberLike | undefined, neginf?: NumberLike | undefined): Tensor {
    begin(op_nan_to_num)
    arg(this)
    arg(nan)
    arg(posinf)
    arg(neginf)
    return toTensor(op_nan_to_num) as Tensor
  }

  /** aten::relu(Tensor self) -> Tensor */
  relu(): Tensor {
    begin(op_relu)
    arg(this)
    return toTensor(op_relu) as Tensor
  }

  /** aten::silu(Tensor self) -> Tensor */
  silu(): Tensor {
    begin(op_silu)
    arg(this)
    return toTensor(op_silu) as Tensor
  }

  /** aten::silu.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!) */
  siluOut(options: { out: Tensor }): void {
    begin(op_silu_out)
    arg(this)
    arg(options.out)
    toNothing(op_silu_out)
    return
  }

  /** aten::gelu(Tensor self, *, str approximate="none") -> Tensor */
  gelu(options: { approximate?: string | undefined } = {}): Tensor {
    begin(op_gelu)
    arg(this)
    arg(options.approximate)
    return toTensor(op_gelu) as Tensor
  }

  /** aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor */
  softmax(dim: NumberLike, options: { dtype?: DType | undefined } = {}): Tensor {
    begin(op_softmax_int)
    arg(this)
    arg(dim)
    argDtype(options.dtype)
    return toTensor(op_softmax_int) as Tensor
  }

  /** aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor */
  logSoftmax(dim: NumberLike, options: { dtype?: DType | undefined } = {}): Tensor {
    begin(op_log_softmax_int)
    arg(this)
    arg(dim)
    argDtype(options.dtype)
    return toTensor(op_log_softmax_int) as Tensor
  }

  /** aten::matmul(Tensor self, Tensor other) -> Tensor */
  matmul(other: Tensor): Tensor {
    begin(op_matmul)
    arg(this)
    arg(other)
    return toTensor(op_matmul) as Tensor
  }

  /** aten::mm(Tensor self, Tensor mat2) -> Tensor */
  mm(mat2: Tensor): Tensor {
    begin(op_mm)
    arg(this)
    arg(mat2)
    return toTensor(op_mm) as Tensor
  }

  /** aten::bmm(Tensor self, Tensor mat2) -> Tensor */
  bmm(mat2: Tensor): Tensor {
    begin(op_bmm)
    arg(this)
    arg(mat2)
    return toTensor(op_bmm) as Tensor
  }

  /** aten::addmm_(Tensor(a!) self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor(a!) */
  addmm_(mat1: Tensor, mat2: Tensor, options: { beta?: NumberLike | undefined; alpha?: NumberLike | undefined } = {}): this {
    begin(op_addmm_)
    arg(this)
    arg(mat1)
    arg(mat2)
    arg(options.beta)
    arg(options.alpha)
    toNothing(op_addmm_)
    return this
  }

  /** aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor */
  baddbmm(batch1: Tensor, batch2: Tensor, options: { beta?: NumberLike | undefined; alpha?: NumberLike | undefined } = {}): Tensor {
    begin(op_baddbmm)
    arg(this)
    arg(batch1)
    arg(batch2)
    arg(options.beta)
    arg(options.alpha)
    return toTensor(op_baddbmm) as Tensor
  }

  /**
   * aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor
   * aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
   */
  sum(dim?: readonly NumberLike[] | NumberLike | undefined, options: { dtype?: DType | undefined; keepdim?: boolean | undefined } = {}): Tensor {
    if (dim === undefined && options.keepdim === undefined) {
      begin(op_sum)
      arg(this)
      argDtype(options.dtype)
      return toTensor(op_sum) as Tensor
    }
    begin(op_sum_dim_IntList)
    arg(this)
    arg(dim)
    arg(options.keepdim)
    argDtype(options.dtype)
    return toTensor(op_sum_dim_IntList) as Tensor
  }

  /**
   * aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor
   * aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
   */
  mean(dim?: readonly NumberLike[] | NumberLike | undefined, options: { dtype?: DType | undefined; keepdim?: boolean | undefined } = {}): Tensor {
    if (dim === undefined && options.keepdim === undefined) {
      begin(op_mean)
      arg(this)
      argDtype(options.dtype)
      return toTensor(op_mean) as Tensor
    }
    begin(op_mean_dim)
    arg(this)
    arg(dim)
    arg(options.keepdim)
    argDtype(options.dtype)
    return toTensor(op_mean_dim) as Tensor
  }

  /**
   * aten::std(Tensor self, bool unbiased=True) -> Tensor
   * aten::std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor
   */
  std(dim?: readonly NumberLike[] | NumberLike | undefined, options: { unbiased?: boolean | undefined; correction?: NumberLike | undefined; keepdim?: boolean | undefined } = {}): Tensor {
    if (dim === undefined && options.correction === undefined && options.keepdim === undefined) {
      begin(op_std)
      arg(this)
      arg(options.unbiased)
      return toTensor(op_std) as Tensor
    }
    begin(op_std_correction)
    arg(this)
    arg(dim)
    arg(options.correction)
    arg(options.keepdim)
    return toTensor(op_std_correction) as Tensor
  }

  /**
   * aten::var(Tensor self, bool unbiased=True) -> Tensor
   * aten::var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor
   */
  variance(dim?: readonly NumberLike[] | NumberLike | undefined, options: { unbiased?: boolean | undefined; correction?: NumberLike | undefined; keepdim?: boolean | undefined } = {}): Tensor {
    if (dim === undefined && options.correction === undefined && options.keepdim === undefined) {
      begin(op_var)
      arg(this)
      arg(options.unbiased)
      return toTensor(op_var) as Tensor
    }
    begin(op_var_correction)
    arg(this)
    arg(dim)
    arg(options.correction)
    arg(options.keepdim)
    return toTensor(op_var_correction) as Tensor
  }

  /**
   * aten::max(Tensor self) -> Tensor
   * aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
   */
  max(dim?: NumberLike | undefined, options: { keepdim?: boolean | undefined } = {}): Tensor | [Tensor, Tensor] {
    if (dim === undefined && options.keepdim === undefined) {
      begin(op_max)
      arg(this)
      return toTensor(op_max) as Tensor
    }
    begin(op_max_dim)
    arg(this)
    arg(dim)
    arg(options.keepdim)
    return toSeveral(op_max_dim, 2) as [Tensor, Tensor]
  }

  /**
   * aten::min(Tensor self) -> Tensor
   * aten::min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
   */
  min(dim?: NumberLike | undefined, options: { keepdim?: boolean | undefined } = {}): Tensor | [Tensor, Tensor] {
    if (dim === undefined && options.keepdim === undefined) {
      begin(op_min)
      arg(this)
      return toTensor(op_min) as Tensor
    }
    begin(op_min_dim)
    arg(this)
    arg(dim)
    arg(options.keepdim)
    return toSeveral(op_min_dim, 2) as [Tensor, Tensor]
  }

  /** aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor */
  amax(dim?: readonly NumberLike[] | NumberLike | undefined, options: { keepdim?: boolean | undefined } = {}): Tensor {
    begin(op_amax)
    arg(this)
    arg(dim)
    arg(options.keepdim)
    return toTensor(op_amax) as Tensor
  }

  /** aten::amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor */
  amin(dim?: readonly NumberLike[] | NumberLike | undefined, options: { keepdim?: boolean | undefined } = {}): Tensor {
    begin(op_amin)
    arg(this)
    arg(dim)
    arg(options.keepdim)
    return toTensor(op_amin) as Tensor
  }

  /** aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor */
  argmax(dim?: NumberLike | undefined, options: { keepdim?: boolean | undefined } = {}): Tensor {
    begin(op_argmax)
    arg(this)
    arg(dim)
    arg(options.keepdim)
    return toTensor(op_argmax) as Tensor
  }

  /** aten::argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor */
  argmin(dim?: NumberLike | undefined, options: { keepdim?: boolean | undefined } = {}): Tensor {
    begin(op_argmin)
    arg(this)
    arg(dim)
    arg(options.keepdim)
    return toTensor(op_argmin) as Tensor
  }

  /** aten::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor */
  logsumexp(dim: readonly NumberLike[] | NumberLike, options: { keepdim?: boolean | undefined } = {}): Tensor {
    begin(op_logsumexp)
    arg(this)
    arg(dim)
    arg(options.keepdim)
    return toTensor(op_logsumexp) as Tensor
  }

  /** aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor */
  cumsum(dim: NumberLike, options: { dtype?: DType | undefined } = {}): Tensor {
    begin(op_cumsum)
    arg(this)
    arg(dim)
    argDtype(options.dtype)
    return toTensor(op_cumsum) as Tensor
  }

  /**
   * aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor
   * aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
   */
  prod(dim?: NumberLike | undefined, options: { dtype?: DType | undefined; keepdim?: boolean | undefined } = {}): Tensor {
    if (dim === undefined && options.keepdim === undefined) {
      begin(op_prod)
      arg(this)
      argDtype(options.dtype)
      return toTensor(op_prod) as Tensor
    }
    begin(op_prod_dim_int)
    arg(this)
    arg(dim)
    arg(options.keepdim)
    argDtype(options.dtype)
    return toTensor(op_prod_dim_int) as Tensor
  }

  /** aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor */
  norm(ord?: NumberLike | undefined, dim?: readonly NumberLike[] | NumberLike | undefined, options: { keepdim?: boolean | undefined; dtype?: DType | undefined } = {}): Tensor {
    begin(op_linalg_vector_norm)
    arg(this)
    arg(ord)
    arg(dim)
    arg(options.keepdim)
    argDtype(options.dtype)
    return toTensor(op_linalg_vector_norm) as Tensor
  }

  /**
   * aten::any(Tensor self) -> Tensor
   * aten::any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor
   */
  any(dim?: NumberLike | undefined, options: { keepdim?: boolean | undefined } = {}): Tensor {
    if (dim === undefined && options.keepdim === undefined) {
      begin(op_any)
      arg(this)
      return toTensor(op_any) as Tensor
    }
    begin(op_any_dim)
    arg(this)
    arg(dim)
    arg(options.keepdim)
    return toTensor(op_any_dim) as Tensor
  }

  /**
   * aten::all(Tensor self) -> Tensor
   * aten::all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor
   */
  all(dim?: NumberLike | undefined, options: { keepdim?: boolean | undefined } = {}): Tensor {
    if (dim === undefined && options.keepdim === undefined) {
      begin(op_all)
      arg(this)
      return toTensor(op_all) as Tensor
    }
    begin(op_all_dim)
    arg(this)
    arg(dim)
    arg(options.keepdim)
    return toTensor(op_all_dim) as Tensor
  }

  /** aten::topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices) */
  topk(k: NumberLike, dim?: NumberLike | undefined, options: { largest?: boolean | undefined; sorted?: boolean | undefined } = {}): [Tensor, Tensor] {
    begin(op_topk)
    arg(this)
    arg(k)
    arg(dim)
    arg(options.largest)
    arg(options.sorted)
    return toSeveral(op_topk, 2) as [Tensor, Tensor]
  }

  /** aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices) */
  sort(dim?: NumberLike | undefined, options: { descending?: boolean | undefined } = {}): [Tensor, Tensor] {
    begin(op_sort)
    arg(this)
    arg(dim)
    arg(options.descending)
    return toSeveral(op_sort, 2) as [Tensor, Tensor]
  }

  /** aten::argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor */
  argsort(dim?: NumberLike | undefined, options: { descending?: boolean | undefined } = {}): Tensor {
    begin(op_argsort)
    arg(this)
    arg(dim)
    arg(options.descending)
    return toTensor(op_argsort) as Tensor
  }

  /**
   * aten::eq.Tensor(Tensor self, Tensor other) -> Tensor
   * aten::eq.Scalar(Tensor self, Scalar other) -> Tensor
   */
  eq(other: Tensor | NumberLike): Tensor {
    if (isTensor(other)) {
      begin(op_eq_Tensor)
      arg(this)
      arg(other)
      return toTensor(op_eq_Tensor) as Tensor
    }
    begin(op_eq_Scalar)
    arg(this)
    arg(other)
    return toTensor(op_eq_Scalar) as Tensor
  }

  /**
   * aten::ne.Tensor(Tensor self, Tensor other) -> Tensor
   * aten::ne.Scalar(Tensor self, Scalar other) -> Tensor
   */
  ne(other: Tensor | NumberLike): Tensor {
    if (isTensor(other)) {
      begin(op_ne_Tensor)
      arg(this)
      arg(other)
      return toTensor(op_ne_Tensor) as Tensor
    }
    begin(op_ne_Scalar)
    arg(this)
    arg(other)
    return toTensor(op_ne_Scalar) as Tensor
  }

  /**
   * aten::lt.Tensor(Tensor self, Tensor other) -> Tensor
   * aten::lt.Scalar(Tensor self, Scalar other) -> Tensor
   */
  lt(other: Tensor | NumberLike): Tensor {
    if (isTensor(other)) {
      begin(op_lt_Tensor)
      arg(this)
      arg(other)
      return toTensor(op_lt_Tensor) as Tensor
    }
    begin(op_lt_Scalar)
    arg(this)
    arg(other)
    return toTensor(op_lt_Scalar) as Tensor
  }

  /**
   * aten::le.Tensor(Tensor self, Tensor other) -> Tensor
   * aten::le.Scalar(Tensor self, Scalar other) -> Tensor
   */
  le(other: Tensor | NumberLike): Tensor {
    if (isTensor(other)) {
      begin(op_le_Tensor)
      arg(this)
      arg(other)
      return toTensor(op_le_Tensor) as Tensor
    }
    begin(op_le_Scalar)
    arg(this)
    arg(other)
    return toTensor(op_le_Scalar) as Tensor
  }

  /**
   * aten::gt.Tensor(Tensor self, Tensor other) -> Tensor
   * aten::gt.Scalar(Tensor self, Scalar other) -> Tensor
   */
  gt(other: Tensor | NumberLike): Tensor {
    if (isTensor(other)) {
      begin(op_gt_Tensor)
      arg(this)
      arg(other)
      return toTensor(op_gt_Tensor) as Tensor
    }
    begin(op_gt_Scalar)
    arg(this)
    arg(other)
    return toTensor(op_gt_Scalar) as Tensor
  }

  /**
   * aten::ge.Tensor(Tensor self, Tensor other) -> Tensor
   * aten::ge.Scalar(Tensor self, Scalar other) -> Tensor
   */
  ge(other: Tensor | NumberLike): Tensor {
    if (isTensor(other)) {
      begin(op_ge_Tensor)
      arg(this)
      arg(other)
      return toTensor(op_ge_Tensor) as Tensor
    }
    begin(op_ge_Scalar)
    arg(this)
    arg(other)
    return toTensor(op_ge_Scalar) as Tensor
  }

  /** aten::logical_and(Tensor self, Tensor other) -> Tensor */
  logicalAnd(other: Tensor): Tensor {
    begin(op_logical_and)
    arg(this)
    arg(other)
    return toTensor(op_logical_and) as Tensor
  }

  /** aten::logical_or(Tensor self, Tensor other) -> Tensor */
  logicalOr(other: Tensor): Tensor {
    begin(op_logical_or)
    arg(this)
    arg(other)
    return toTensor(op_logical_or) as Tensor
  }

  /** aten::logical_not(Tensor self) -> Tensor */
  logicalNot(): Tensor {
    begin(op_logical_not)
    arg(this)
    return toTensor(op_logical_not) as Tensor
  }

  /** aten::isnan(Tensor self) -> Tensor */
  isnan(): Tensor {
    begin(op_isnan)
    arg(this)
    return toTensor(op_isnan) as Tensor
  }

  /** aten::isinf(Tensor self) -> Tensor */
  isinf(): Tensor {
    begin(op_isinf)
    arg(this)
    return toTensor(op_isinf) as Tensor
  }

  /** aten::isfinite(Tensor self) -> Tensor */
  isfinite(): Tensor {
    begin(op_isfinite)
    arg(this)
    return toTensor(op_isfinite) as Tensor
  }

  /**
   * aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor
   * aten::masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor
   */
  maskedFill(mask: Tensor, value: NumberLike | Tensor): Tensor {
    if (isTensor(mask) && isNumber(value)) {
      begin(op_masked_fill_Scalar)
      arg(this)
      arg(mask)
      arg(value)
      return toTensor(op_masked_fill_Scalar) as Tensor
    }
    begin(op_masked_fill_Tensor)
    arg(this)
    arg(mask)
    arg(value)
    return toTensor(op_masked_fill_Tensor) as Tensor
  }

  /** aten::allclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False) -> bool */
  allclose(other: Tensor, rtol?: NumberLike | undefined, atol?: NumberLike | undefined, options: { equalNan?: boolean | undefined } = {}): boolean {
    begin(op_allclose)
    arg(this)
    arg(other)
    arg(rtol)
    arg(atol)
    arg(options.equalNan)
    return toScalar(op_allclose) as boolean
  }

  /** aten::equal(Tensor self, Tensor other) -> bool */
  equal(other: Tensor): boolean {
    begin(op_equal)
    arg(this)
    arg(other)
    return toScalar(op_equal) as boolean
  }

  /** aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a) */
  view(size: readonly NumberLike[]): Tensor {
    begin(op_view)
    arg(this)
    arg(size)
    return toTensor(op_view) as Tensor
  }

  /** aten::view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a) */
  viewDtype(options: { dtype: DType }): Tensor {
    begin(op_view_dtype)
    arg(this)
    argDtype(options.dtype)
    return toTensor(op_view_dtype) as Tensor
  }

  /** aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a) */
  reshape(shape: readonly NumberLike[]): Tensor {
    begin(op_reshape)
    arg(this)
    arg(shape)
    return toTensor(op_reshape) as Tensor
  }

  /** aten::flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a) */
  flatten(startDim?: NumberLike | undefined, endDim?: NumberLike | undefined): Tensor {
    begin(op_flatten_using_ints)
    arg(this)
    arg(startDim)
    arg(endDim)
    return toTensor(op_flatten_using_ints) as Tensor
  }

  /** aten::unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a) */
  unflatten(dim: NumberLike, sizes: readonly NumberLike[]): Tensor {
    begin(op_unflatten_int)
    arg(this)
    arg(dim)
    arg(sizes)
    return toTensor(op_unflatten_int) as Tensor
  }

  /**
   * aten::squeeze(Tensor(a) self) -> Tensor(a)
   * aten::squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)
   */
  squeeze(dim?: NumberLike | undefined): Tensor {
    if (dim === undefined) {
      begin(op_squeeze)
      arg(this)
      return toTensor(op_squeeze) as Tensor
    }
    begin(op_squeeze_dim)
    arg(this)
    arg(dim)
    return toTensor(op_squeeze_dim) as Tensor
  }

  /** aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a) */
  unsqueeze(dim: NumberLike): Tensor {
    begin(op_unsqueeze)
    arg(this)
    arg(dim)
    return toTensor(op_unsqueeze) as Tensor
  }

  /** aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a) */
  transpose(dim0: NumberLike, dim1: NumberLike): Tensor {
    begin(op_transpose_int)
    arg(this)
    arg(dim0)
    arg(dim1)
    return toTensor(op_transpose_int) as Tensor
  }

  /** aten::t(Tensor(a) self) -> Tensor(a) */
  t(): Tensor {
    begin(op_t)
    arg(this)
    return toTensor(op_t) as Tensor
  }

  /** aten::permute(Tensor(a) self, int[] dims) -> Tensor(a) */
  permute(dims: readonly NumberLike[]): Tensor {
    begin(op_permute)
    arg(this)
    arg(dims)
    return toTensor(op_permute) as Tensor
  }

  /** aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a) */
  expand(size: readonly NumberLike[], options: { implicit?: boolean | undefined } = {}): Tensor {
    begin(op_expand)
    arg(this)
    arg(size)
    arg(options.implicit)
    return toTensor(op_expand) as Tensor
  }

  /** aten::repeat(Tensor self, SymInt[] repeats) -> Tensor */
  repeat(repeats: readonly NumberLike[]): Tensor {
    begin(op_repeat)
    arg(this)
    arg(repeats)
    return toTensor(op_repeat) as Tensor
  }

  /**
   * aten::repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor
   * aten::repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor
   */
  repeatInterleave(repeats: NumberLike | Tensor, dim?: NumberLike | undefined, options: { outputSize?: NumberLike | undefined } = {}): Tensor {
    if (isNumber(repeats) && (dim == null || isNumber(dim))) {
      begin(op_repeat_interleave_self_int)
      arg(this)
      arg(repeats)
      arg(dim)
      arg(options.outputSize)
      return toTensor(op_repeat_interleave_self_int) as Tensor
    }
    begin(op_repeat_interleave_self_Tensor)
    arg(this)
    arg(repeats)
    arg(dim)
    arg(options.outputSize)
    return toTensor(op_repeat_interleave_self_Tensor) as Tensor
  }

  /** aten::contiguous(Tensor(a) self, *, MemoryFormat memory_format=0) -> Tensor(a) */
  contiguous(): Tensor {
    begin(op_contiguous)
    arg(this)
    arg(undefined)
    return toTensor(op_contiguous) as Tensor
  }

  /** aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[] */
  split(splitSize: NumberLike, dim?: NumberLike | undefined): Tensor[] {
    begin(op_split_Tensor)
    arg(this)
    arg(splitSize)
    arg(dim)
    return toList(op_split_Tensor) as Tensor[]
  }

  /** aten::chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[] */
  chunk(chunks: NumberLike, dim?: NumberLike | undefined): Tensor[] {
    begin(op_chunk)
    arg(this)
    arg(chunks)
    arg(dim)
    return toList(op_chunk) as Tensor[]
  }

  /** aten::unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[] */
  unbind(dim?: NumberLike | undefined): Tensor[] {
    begin(op_unbind_int)
    arg(this)
    arg(dim)
    return toList(op_unbind_int) as Tensor[]
  }

  /** aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor */
  roll(shifts: readonly NumberLike[] | NumberLike, dims?: readonly NumberLike[] | NumberLike | undefined): Tensor {
    begin(op_roll)
    arg(this)
    arg(shifts)
    arg(dims)
    return toTensor(op_roll) as Tensor
  }

  /** aten::flip(Tensor self, int[] dims) -> Tensor */
  flip(dims: readonly NumberLike[]): Tensor {
    begin(op_flip)
    arg(this)
    arg(dims)
    return toTensor(op_flip) as Tensor
  }

  /** aten::constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor */
  pad(pad: readonly NumberLike[], value?: NumberLike | undefined): Tensor {
    begin(op_constant_pad_nd)
    arg(this)
    arg(pad)
    arg(value)
    return toTensor(op_constant_pad_nd) as Tensor
  }

  /** aten::tril(Tensor self, SymInt diagonal=0) -> Tensor */
  tril(diagonal?: NumberLike | undefined): Tensor {
    begin(op_tril)
    arg(this)
    arg(diagonal)
    return toTensor(op_tril) as Tensor
  }

  /** aten::triu(Tensor self, SymInt diagonal=0) -> Tensor */
  triu(diagonal?: NumberLike | undefined): Tensor {
    begin(op_triu)
    arg(this)
    arg(diagonal)
    return toTensor(op_triu) as Tensor
  }

  /** aten::diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a) */
  diagonal(offset?: NumberLike | undefined, dim1?: NumberLike | undefined, dim2?: NumberLike | undefined): Tensor {
    begin(op_diagonal)
    arg(this)
    arg(offset)
    arg(dim1)
    arg(dim2)
    return toTensor(op_diagonal) as Tensor
  }

  /** aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a) */
  select(dim: NumberLike, index: NumberLike): Tensor {
    begin(op_select_int)
    arg(this)
    arg(dim)
    arg(index)
    return toTensor(op_select_int) as Tensor
  }

  /** aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a) */
  slice(dim?: NumberLike | undefined, start?: NumberLike | undefined, end?: NumberLike | undefined, step?: NumberLike | undefined): Tensor {
    begin(op_slice_Tensor)
    arg(this)
    arg(dim)
    arg(start)
    arg(end)
    arg(step)
    return toTensor(op_slice_Tensor) as Tensor
  }

  /** aten::narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a) */
  narrow(dim: NumberLike, start: NumberLike, length: NumberLike): Tensor {
    begin(op_narrow)
    arg(this)
    arg(dim)
    arg(start)
    arg(length)
    return toTensor(op_narrow) as Tensor
  }

  /** aten::index_select(Tensor self, int dim, Tensor index) -> Tensor */
  indexSelect(dim: NumberLike, index: Tensor): Tensor {
    begin(op_index_select)
    arg(this)
    arg(dim)
    arg(index)
    return toTensor(op_index_select) as Tensor
  }

  /** aten::index_add_(Tensor(a!) self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor(a!) */
  indexAdd_(dim: NumberLike, index: Tensor, source: Tensor, options: { alpha?: NumberLike | undefined } = {}): this {
    begin(op_index_add_)
    arg(this)
    arg(dim)
    arg(index)
    arg(source)
    arg(options.alpha)
    toNothing(op_index_add_)
    return this
  }

  /** aten::index_copy_(Tensor(a!) self, int dim, Tensor index, Tensor source) -> Tensor(a!) */
  indexCopy_(dim: NumberLike, index: Tensor, source: Tensor): this {
    begin(op_index_copy_)
    arg(this)
    arg(dim)
    arg(index)
    arg(source)
    toNothing(op_index_copy_)
    return this
  }

  /** aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor */
  gather(dim: NumberLike, index: Tensor, options: { sparseGrad?: boolean | undefined } = {}): Tensor {
    begin(op_gather)
    arg(this)
    arg(dim)
    arg(index)
    arg(options.sparseGrad)
    return toTensor(op_gather) as Tensor
  }

  /**
   * aten::scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor
   * aten::scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor
   */
  scatter(dim: NumberLike, index: Tensor, src: Tensor | NumberLike): Tensor {
    if (isNumber(dim) && isTensor(index) && isTensor(src)) {
      begin(op_scatter_src)
      arg(this)
      arg(dim)
      arg(index)
      arg(src)
      return toTensor(op_scatter_src) as Tensor
    }
    begin(op_scatter_value)
    arg(this)
    arg(dim)
    arg(index)
    arg(src)
    return toTensor(op_scatter_value) as Tensor
  }

  /** aten::scatter_add_(Tensor(a!) self, int dim, Tensor index, Tensor src) -> Tensor(a!) */
  scatterAdd_(dim: NumberLike, index: Tensor, src: Tensor): this {
    begin(op_scatter_add_)
    arg(this)
    arg(dim)
    arg(index)
    arg(src)
    toNothing(op_scatter_add_)
    return this
  }

  /** aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor */
  indexTensor(indices: readonly (Tensor | null)[]): Tensor {
    begin(op_index_Tensor)
    arg(this)
    arg(indices)
    return toTensor(op_index_Tensor) as Tensor
  }

  /** aten::index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor(a!) */
  indexPut_(indices: readonly (Tensor | null)[], values: Tensor, options: { accumulate?: boolean | undefined } = {}): this {
    begin(op_index_put_)
    arg(this)
    arg(indices)
    arg(values)
    arg(options.accumulate)
    toNothing(op_index_put_)
    return this
  }

  /** aten::nonzero(Tensor self) -> Tensor */
  nonzero(): Tensor {
    begin(op_nonzero)
    arg(this)
    return toTensor(op_nonzero) as Tensor
  }

  /** aten::empty_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor */
  emptyLike(options: { dtype?: DType | undefined; device?: Device | undefined } = {}): Tensor {
    begin(op_empty_like)
    arg(this)
    argDtype(options.dtype)
    arg(undefined)
    argDevice(options.device)
    arg(undefined)
    arg(undefined)
    return toTensor(op_empty_like) as Tensor
  }

  /** aten::zeros_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor */
  zerosLike(options: { dtype?: DType | undefined; device?: Device | undefined } = {}): Tensor {
    begin(op_zeros_like)
    arg(this)
    argDtype(options.dtype)
    arg(undefined)
    argDevice(options.device)
    arg(undefined)
    arg(undefined)
    return toTensor(op_zeros_like) as Tensor
  }

  /** aten::ones_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor */
  onesLike(options: { dtype?: DType | undefined; device?: Device | undefined } = {}): Tensor {
    begin(op_ones_like)
    arg(this)
    argDtype(options.dtype)
    arg(undefined)
    argDevice(options.device)
    arg(undefined)
    arg(undefined)
    return toTensor(op_ones_like) as Tensor
  }

  /** aten::new_zeros(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor */
  newZeros(size: readonly NumberLike[], options: { dtype?: DType | undefined; device?: Device | undefined } = {}): Tensor {
    begin(op_new_zeros)
    arg(this)
    arg(size)
    argDtype(options.dtype)
    arg(undefined)
    argDevice(options.device)
    arg(undefined)
    return toTensor(op_new_zeros) as Tensor
  }

  /** aten::new_empty(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor */
  newEmpty(size: readonly NumberLike[], options: { dtype?: DType | undefined; device?: Device | undefined } = {}): Tensor {
    begin(op_new_empty)
    arg(this)
    arg(size)
    argDtype(options.dtype)
    arg(undefined)
    argDevice(options.device)
    arg(undefined)
    return toTensor(op_new_empty) as Tensor
  }

  /** aten::full_like(Tensor self, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor */
  fullLike(fillValue: NumberLike, options: { dtype?: DType | undefined; device?: Device | undefined } = {}): Tensor {
    begin(op_full_like)
    arg(this)
    arg(fillValue)
    argDtype(options.dtype)
    arg(undefined)
    argDevice(options.device)
    arg(undefined)
    arg(undefined)
    return toTensor(op_full_like) as Tensor
  }

  /** aten::multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, Generator? generator=None) -> Tensor */
  multinomial(numSamples: NumberLike, options: { replacement?: boolean | undefined; generator?: RandomGenerator | undefined } = {}): Tensor {
    begin(op_multinomial)
    arg(this)
    arg(numSamples)
    arg(options.replacement)
    arg(options.generator)
    return toTensor(op_multinomial) as Tensor
  }

  /**
   * aten::bernoulli(Tensor self, *, Generator? generator=None) -> Tensor
   * aten::bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor
   */
  bernoulli(p?: NumberLike | undefined, options: { generator?: RandomGenerator | undefined } = {}): Tensor {
    if (p === undefined) {
      begin(op_bernoulli)
      arg(this)
      arg(options.generator)
      return toTensor(op_bernoulli) as Tensor
    }
    begin(op_bernoulli_p)
    arg(this)
    arg(p)
    arg(options.generator)
    return toTensor(op_bernoulli_p) as Tensor
  }

  /** aten::uniform_(Tensor(a!) self, float from=0., float to=1., *, Generator? generator=None) -> Tensor(a!) */
  uniform_(from?: NumberLike | undefined, to?: NumberLike | undefined, options: { generator?: RandomGenerator | undefined } = {}): this {
    begin(op_uniform_)
    arg(this)
    arg(from)
    arg(to)
    arg(options.generator)
    toNothing(op_uniform_)
    return this
  }

  /** aten::normal_(Tensor(a!) self, float mean=0., float std=1., *, Generator? generator=None) -> Tensor(a!) */
  normal_(mean?: NumberLike | undefined, std?: NumberLike | undefined, options: { generator?: RandomGenerator | undefined } = {}): this {
    begin(op_normal_)
    arg(this)
    arg(mean)
    arg(std)
    arg(options.generator)
    toNothing(op_normal_)
    return this
  }

  /** aten::exponential_(Tensor(a!) self, float lambd=1., *, Generator? generator=None) -> Tensor(a!) */
  exponential_(lambd?: NumberLike | undefined, options: { generator?: RandomGenerator | undefined } = {}): this {
    begin(op_exponential_)
    arg(this)
    arg(lambd)
    arg(options.generator)
    toNothing(op_exponential_)
    return this
  }

  /** aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor */
  clone(): Tensor {
    begin(op_clone)
    arg(this)
    arg(undefined)
    return toTensor(op_clone) as Tensor
  }

  /** aten::detach(Tensor(a) self) -> Tensor(a) */
  detach(): Tensor {
    begin(op_detach)
    arg(this)
    return toTensor(op_detach) as Tensor
  }

  /** aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!) */
  copy_(src: Tensor, options: { nonBlocking?: boolean | undefined } = {}): this {
    begin(op_copy_)
    arg(this)
    arg(src)
    arg(options.nonBlocking)
    toNothing(op_copy_)
    return this
  }

  /**
   * aten::fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)
   * aten::fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)
   */
  fill_(value: NumberLike | Tensor): this {
    if (isNumber(value)) {
      begin(op_fill__Scalar)
      arg(this)
      arg(value)
      toNothing(op_fill__Scalar)
      return this
    }
    begin(op_fill__Tensor)
    arg(this)
    arg(value)
    toNothing(op_fill__Tensor)
    return this
  }

  /** aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor */
  toCopy(options: { dtype?: DType | undefined; device?: Device | undefined; nonBlocking?: boolean | undefined } = {}): Tensor {
    begin(op__to_copy)
    arg(this)
    argDtype(options.dtype)
    arg(undefined)
    argDevice(options.device)
    arg(undefined)
    arg(options.nonBlocking)
    arg(undefined)
    return toTensor(op__to_copy) as Tensor
  }

  /** aten::type_as(Tensor self, Tensor other) -> Tensor */
  typeAs(other: Tensor): Tensor {
    begin(op_type_as)
    arg(this)
    arg(other)
    return toTensor(op_type_as) as Tensor
  }

  /** aten::set_data(Tensor(a!) self, Tensor new_data) -> () */
  setData(newData: Tensor): void {
    begin(op_set_data)
    arg(this)
    arg(newData)
    toNothing(op_set_data)
    return
  }

  /** aten::resize_(Tensor(a!) self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor(a!) */
  resize_(size: readonly NumberLike[]): this {
    begin(op_resize_)
    arg(this)
    arg(size)
    arg(undefined)
    toNothing(op_resize_)
    return this
  }

  /** aten::cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100, float label_smoothing=0.) -> Tensor */
  crossEntropyLoss(target: Tensor, weight?: Tensor | null | undefined, reduction?: NumberLike | undefined, ignoreIndex?: NumberLike | undefined, labelSmoothing?: NumberLike | undefined): Tensor {
    begin(op_cross_entropy_loss)
    arg(this)
    arg(target)
    arg(weight)
    arg(reduction)
    arg(ignoreIndex)
    arg(labelSmoothing)
    return toTensor(op_cross_entropy_loss) as Tensor
  }
}

/** aten::dropout(Tensor input, float p, bool train) -> Tensor */
export function dropout(input: Tensor, p: NumberLike, options: { train: boolean }): Tensor {
  begin(op_dropout)
  arg(input)
  arg(p)
  arg(options.train)
  return toTensor(op_dropout) as Tensor
}

/** aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor */
export function linear(input: Tensor, weight: Tensor, bias?: Tensor | null | undefined): Tensor {
  begin(op_linear)
  arg(input)
  arg(weight)
  arg(bias)
  return toTensor(op_linear) as Tensor
}

/** aten::einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor */
export function einsum(equation: string, tensors: readonly Tensor[], options: { path?: readonly NumberLike[] | undefined } = {}): Tensor {
  begin(op_einsum)
  arg(equation)
  arg(tensors)
  arg(options.path)
  return toTensor(op_einsum) as Tensor
}

/** aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor */
export function where(condition: Tensor, self: Tensor, other: Tensor): Tensor {
  begin(op_where_self)
  arg(condition)
  arg(self)
  arg(other)
  return toTensor(op_where_self) as Tensor
}

/** aten::cat(Tensor[] tensors, int dim=0) -> Tensor */
export function cat(tensors: readonly Tensor[], dim?: NumberLike | undefined): Tensor {
  begin(op_cat)
  arg(tensors)
  arg(dim)
  return toTensor(op_cat) as Tensor
}

/** aten::stack(Tensor[] tensors, int dim=0) -> Tensor */
export function stack(tensors: readonly Tensor[], dim?: NumberLike | undefined): Tensor {
  begin(op_stack)
  arg(tensors)
  arg(dim)
  return toTensor(op_stack) as Tensor
}

/** aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor */
export function embedding(weight: Tensor, indices: Tensor, paddingIdx?: NumberLike | undefined, options: { scaleGradByFreq?: boolean | undefined; sparse?: boolean | undefined } = {}): Tensor {
  begin(op_embedding)
  arg(weight)
  arg(indices)
  arg(paddingIdx)
  arg(options.scaleGradByFreq)
  arg(options.sparse)
  return toTensor(op_embedding) as Tensor
}

/** aten::empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor */
export function empty(size: readonly NumberLike[], options: { dtype?: DType | undefined; device?: Device | undefined } = {}): Tensor {
  begin(op_empty_memory_format)
  arg(size)
  argDtype(options.dtype)
  arg(undefined)
  argDevice(options.device)
  arg(undefined)
  arg(undefined)
  return toTensor(op_empty_memory_format) as Tensor
}

/** aten::zeros(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor */
export function zeros(size: readonly NumberLike[], options: { dtype?: DType | undefined; device?: Device | undefined } = {}): Tensor {
  begin(op_zeros)
  arg(size)
  argDtype(options.dtype)
  arg(undefined)
  argDevice(options.device)
  arg(undefined)
  return toTensor(op_zeros) as Tensor
}

/** aten::ones(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor */
export function ones(size: readonly NumberLike[], options: { dtype?: DType | undefined; device?: Device | undefined } = {}): Tensor {
  begin(op_ones)
  arg(size)
  argDtype(options.dtype)
  arg(undefined)
  argDevice(options.device)
  arg(undefined)
  return toTensor(op_ones) as Tensor
}

/** aten::full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor */
export function full(size: readonly NumberLike[], fillValue: NumberLike, options: { dtype?: DType | undefined; device?: Device | undefined } = {}): Tensor {
  begin(op_full)
  arg(size)
  arg(fillValue)
  argDtype(options.dtype)
  arg(undefined)
  argDevice(options.device)
  arg(undefined)
  return toTensor(op_full) as Tensor
}

/** aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor */
export function arange(start: NumberLike, end: NumberLike, step?: NumberLike | undefined, options: { dtype?: DType | undefined; device?: Device | undefined } = {}): Tensor {
  begin(op_arange_start_step)
  arg(start)
  arg(end)
  arg(step)
  argDtype(options.dtype)
  arg(undefined)
  argDevice(options.device)
  arg(undefined)
  return toTensor(op_arange_start_step) as Tensor
}

/**
 * aten::rand(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
 * aten::rand.generator(SymInt[] size, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
 */
export function rand(size: readonly NumberLike[], options: { dtype?: DType | undefined; device?: Device | undefined; generator?: RandomGenerator | undefined } = {}): Tensor {
  if (Array.isArray(size) && options.generator === undefined) {
    begin(op_rand)
    arg(size)
    argDtype(options.dtype)
    arg(undefined)
    argDevice(options.device)
    arg(undefined)
    return toTensor(op_rand) as Tensor
  }
  begin(op_rand_generator)
  arg(size)
  arg(options.generator)
  argDtype(options.dtype)
  arg(undefined)
  argDevice(options.device)
  arg(undefined)
  return toTensor(op_rand_generator) as Tensor
}

/**
 * aten::randn(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
 * aten::randn.generator(SymInt[] size, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
 */
export function randn(size: readonly NumberLike[], options: { dtype?: DType | undefined; device?: Device | undefined; generator?: RandomGenerator | undefined } = {}): Tensor {
  if (Array.isArray(size) && options.generator === undefined) {
    begin(op_randn)
    arg(size)
    argDtype(options.dtype)
    arg(undefined)
    argDevice(options.device)
    arg(undefined)
    return toTensor(op_randn) as Tensor
  }
  begin(op_randn_generator)
  arg(size)
  arg(options.generator)
  argDtype(options.dtype)
  arg(undefined)
  argDevice(options.device)
  arg(undefined)
  return toTensor(op_randn_generator) as Tensor
}

/**
 * aten::randint.low(SymInt low, SymInt high, SymInt[] size, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
 * aten::randint.low_generator(SymInt low, SymInt high, SymInt[] size, *, Generator? generator, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
 */
export function randint(low: NumberLike, high: NumberLike, size: readonly NumberLike[], options: { dtype?: DType | undefined; device?: Device | undefined; generator?: RandomGenerator | undefined } = {}): Tensor {
  if (isNumber(low) && isNumber(high) && Array.isArray(size) && options.generator === undefined) {
    begin(op_randint_low)
    arg(low)
    arg(high)
    arg(size)
    argDtype(options.dtype)
    arg(undefined)
    argDevice(options.device)
    arg(undefined)
    return toTensor(op_randint_low) as Tensor
  }
  begin(op_randint_low_generator)
  arg(low)
  arg(high)
  arg(size)
  arg(options.generator)
  argDtype(options.dtype)
  arg(undefined)
  argDevice(options.device)
  arg(undefined)
  return toTensor(op_randint_low_generator) as Tensor
}

/**
 * aten::randperm(SymInt n, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
 * aten::randperm.generator(SymInt n, *, Generator? generator, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
 */
export function randperm(n: NumberLike, options: { dtype?: DType | undefined; device?: Device | undefined; generator?: RandomGenerator | undefined } = {}): Tensor {
  if (isNumber(n) && options.generator === undefined) {
    begin(op_randperm)
    arg(n)
    argDtype(options.dtype)
    arg(undefined)
    argDevice(options.device)
    arg(undefined)
    return toTensor(op_randperm) as Tensor
  }
  begin(op_randperm_generator)
  arg(n)
  arg(options.generator)
  argDtype(options.dtype)
  arg(undefined)
  argDevice(options.device)
  arg(undefined)
  return toTensor(op_randperm_generator) as Tensor
}

/** aten::eye(SymInt n, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor */
export function eye(n: NumberLike, options: { dtype?: DType | undefined; device?: Device | undefined } = {}): Tensor {
  begin(op_eye)
  arg(n)
  argDtype(options.dtype)
  arg(undefined)
  argDevice(options.device)
  arg(undefined)
  return toTensor(op_eye) as Tensor
}

/** aten::layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1.0000000000000001e-05, bool cudnn_enable=True) -> Tensor */
export function layerNorm(input: Tensor, normalizedShape: readonly NumberLike[], weight?: Tensor | null | undefined, bias?: Tensor | null | undefined, eps?: NumberLike | undefined, options: { cudnnEnable?: boolean | undefined } = {}): Tensor {
  begin(op_layer_norm)
  arg(input)
  arg(normalizedShape)
  arg(weight)
  arg(bias)
  arg(eps)
  arg(options.cudnnEnable)
  return toTensor(op_layer_norm) as Tensor
}

/** aten::rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor */
export function rmsNorm(input: Tensor, normalizedShape: readonly NumberLike[], weight?: Tensor | null | undefined, eps?: NumberLike | undefined): Tensor {
  begin(op_rms_norm)
  arg(input)
  arg(normalizedShape)
  arg(weight)
  arg(eps)
  return toTensor(op_rms_norm) as Tensor
}

/** aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0., bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor */
export function scaledDotProductAttention(query: Tensor, key: Tensor, value: Tensor, attnMask?: Tensor | null | undefined, dropoutP?: NumberLike | undefined, options: { isCausal?: boolean | undefined; scale?: NumberLike | undefined; enableGqa?: boolean | undefined } = {}): Tensor {
  begin(op_scaled_dot_product_attention)
  arg(query)
  arg(key)
  arg(value)
  arg(attnMask)
  arg(dropoutP)
  arg(options.isCausal)
  arg(options.scale)
  arg(options.enableGqa)
  return toTensor(op_scaled_dot_product_attention) as Tensor
}

/** aten::_flash_attention_forward(Tensor query, Tensor key, Tensor value, Tensor? cum_seq_q, Tensor? cum_seq_k, SymInt max_q, SymInt max_k, float dropout_p, bool is_causal, bool return_debug_mask, *, float? scale=None, SymInt? window_size_left=None, SymInt? window_size_right=None, Tensor? seqused_k=None, Tensor? alibi_slopes=None, Tensor? block_table=None, int? num_splits=None) -> (Tensor output, Tensor softmax_logsumexp, Tensor rng_state, Tensor unused, Tensor debug_attn_mask) */
export function flashAttentionForward(query: Tensor, key: Tensor, value: Tensor, cumSeqQ: Tensor | null, cumSeqK: Tensor | null, maxQ: NumberLike, maxK: NumberLike, dropoutP: NumberLike, options: { isCausal: boolean; returnDebugMask: boolean; scale?: NumberLike | undefined; windowSizeLeft?: NumberLike | undefined; windowSizeRight?: NumberLike | undefined; sequsedK?: Tensor | null | undefined; alibiSlopes?: Tensor | null | undefined; blockTable?: Tensor | null | undefined; numSplits?: NumberLike | undefined }): [Tensor, Tensor, Tensor, Tensor, Tensor] {
  begin(op__flash_attention_forward)
  arg(query)
  arg(key)
  arg(value)
  arg(cumSeqQ)
  arg(cumSeqK)
  arg(maxQ)
  arg(maxK)
  arg(dropoutP)
  arg(options.isCausal)
  arg(options.returnDebugMask)
  arg(options.scale)
  arg(options.windowSizeLeft)
  arg(options.windowSizeRight)
  arg(options.sequsedK)
  arg(options.alibiSlopes)
  arg(options.blockTable)
  arg(options.numSplits)
  return toSeveral(op__flash_attention_forward, 5) as [Tensor, Tensor, Tensor, Tensor, Tensor]
}

/** aten::conv1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], SymInt[1] padding=[0], SymInt[1] dilation=[1], SymInt groups=1) -> Tensor */
export function conv1d(input: Tensor, weight: Tensor, bias?: Tensor | null | undefined, stride?: readonly NumberLike[] | NumberLike | undefined, padding?: readonly NumberLike[] | NumberLike | undefined, dilation?: readonly NumberLike[] | NumberLike | undefined, groups?: NumberLike | undefined): Tensor {
  begin(op_conv1d)
  arg(input)
  arg(weight)
  arg(bias)
  arg(stride)
  arg(padding)
  arg(dilation)
  arg(groups)
  return toTensor(op_conv1d) as Tensor
}

/** aten::conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] padding=[0, 0], SymInt[2] dilation=[1, 1], SymInt groups=1) -> Tensor */
export function conv2d(input: Tensor, weight: Tensor, bias?: Tensor | null | undefined, stride?: readonly NumberLike[] | NumberLike | undefined, padding?: readonly NumberLike[] | NumberLike | undefined, dilation?: readonly NumberLike[] | NumberLike | undefined, groups?: NumberLike | undefined): Tensor {
  begin(op_conv2d)
  arg(input)
  arg(weight)
  arg(bias)
  arg(stride)
  arg(padding)
  arg(dilation)
  arg(groups)
  return toTensor(op_conv2d) as Tensor
}

/** aten::conv3d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], SymInt[3] padding=[0, 0, 0], SymInt[3] dilation=[1, 1, 1], SymInt groups=1) -> Tensor */
export function conv3d(input: Tensor, weight: Tensor, bias?: Tensor | null | undefined, stride?: readonly NumberLike[] | NumberLike | undefined, padding?: readonly NumberLike[] | NumberLike | undefined, dilation?: readonly NumberLike[] | NumberLike | undefined, groups?: NumberLike | undefined): Tensor {
  begin(op_conv3d)
  arg(input)
  arg(weight)
  arg(bias)
  arg(stride)
  arg(padding)
  arg(dilation)
  arg(groups)
  return toTensor(op_conv3d) as Tensor
}

/** aten::silu_backward.grad_input(Tensor grad_output, Tensor self, *, Tensor(a!) grad_input) -> Tensor(a!) */
export function siluBackwardOut(gradOutput: Tensor, self: Tensor, options: { gradInput: Tensor }): void {
  begin(op_silu_backward_grad_input)
  arg(gradOutput)
  arg(self)
  arg(options.gradInput)
  toNothing(op_silu_backward_grad_input)
  return
}

/** aten::_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor */
export function softmaxBackward(gradOutput: Tensor, output: Tensor, dim: NumberLike, options: { inputDtype: DType }): Tensor {
  begin(op__softmax_backward_data)
  arg(gradOutput)
  arg(output)
  arg(dim)
  argDtype(options.inputDtype)
  return toTensor(op__softmax_backward_data) as Tensor
}

/**
 * aten::_foreach_mul_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()
 * aten::_foreach_mul_.Tensor(Tensor(a!)[] self, Tensor other) -> ()
 */
export function foreachMul_(self: readonly Tensor[], scalar: NumberLike | Tensor): void {
  if (Array.isArray(self) && isNumber(scalar)) {
    begin(op__foreach_mul__Scalar)
    arg(self)
    arg(scalar)
    toNothing(op__foreach_mul__Scalar)
    return
  }
  begin(op__foreach_mul__Tensor)
  arg(self)
  arg(scalar)
  toNothing(op__foreach_mul__Tensor)
  return
}

/**
 * aten::_foreach_add_.List(Tensor(a!)[] self, Tensor[] other, *, Scalar alpha=1) -> ()
 * aten::_foreach_add_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()
 */
export function foreachAdd_(self: readonly Tensor[], other: readonly Tensor[] | NumberLike, options: { alpha?: NumberLike | undefined } = {}): void {
  if (Array.isArray(self) && Array.isArray(other)) {
    begin(op__foreach_add__List)
    arg(self)
    arg(other)
    arg(options.alpha)
    toNothing(op__foreach_add__List)
    return
  }
  begin(op__foreach_add__Scalar)
  arg(self)
  arg(other)
  toNothing(op__foreach_add__Scalar)
  return
}

/** aten::_foreach_norm.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) -> Tensor[] */
export function foreachNorm(self: readonly Tensor[], ord?: NumberLike | undefined, options: { dtype?: DType | undefined } = {}): Tensor[] {
  begin(op__foreach_norm_Scalar)
  arg(self)
  arg(ord)
  argDtype(options.dtype)
  return toList(op__foreach_norm_Scalar) as Tensor[]
}

/** aten::_foreach_copy_(Tensor(a!)[] self, Tensor[] src, bool non_blocking=False) -> () */
export function foreachCopy_(self: readonly Tensor[], src: readonly Tensor[], options: { nonBlocking?: boolean | undefined } = {}): void {
  begin(op__foreach_copy_)
  arg(self)
  arg(src)
  arg(options.nonBlocking)
  toNothing(op__foreach_copy_)
  return
}

/** aten::_fused_adamw_(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] exp_avgs, Tensor(d!)[] exp_avg_sqs, Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, *, float lr, float beta1, float beta2, float weight_decay, float eps, bool amsgrad, bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> () */
export function fusedAdamw_(self: readonly Tensor[], grads: readonly Tensor[], expAvgs: readonly Tensor[], expAvgSqs: readonly Tensor[], maxExpAvgSqs: readonly Tensor[], stateSteps: readonly Tensor[], options: { lr: NumberLike; beta1: NumberLike; beta2: NumberLike; weightDecay: NumberLike; eps: NumberLike; amsgrad: boolean; maximize: boolean; gradScale?: Tensor | null | undefined; foundInf?: Tensor | null | undefined }): void {
  begin(op__fused_adamw_)
  arg(self)
  arg(grads)
  arg(expAvgs)
  arg(expAvgSqs)
  arg(maxExpAvgSqs)
  arg(stateSteps)
  arg(options.lr)
  arg(options.beta1)
  arg(options.beta2)
  arg(options.weightDecay)
  arg(options.eps)
  arg(options.amsgrad)
  arg(options.maximize)
  arg(options.gradScale)
  arg(options.foundInf)
  toNothing(op__fused_adamw_)
  return
}
