// Written by tools/generate-operators.mjs from operators.txt and the schemas of libtorch 2.13. Do not edit.
import { arg, argDevice, argDtype, begin, operator, Ref, Sym, toList, toNothing, toScalar, toSeveral, toTensor } from './call.js';
const isTensor = (value) => value instanceof Ref && !(value instanceof Sym);
const isNumber = (value) => typeof value === 'number' || typeof value === 'bigint' || value instanceof Sym;
const op_add_Tensor = operator('add', 'Tensor', 'self,other,alpha');
const op_add_Scalar = operator('add', 'Scalar', 'self,other,alpha');
const op_add__Tensor = operator('add_', 'Tensor', 'self,other,alpha');
const op_add__Scalar = operator('add_', 'Scalar', 'self,other,alpha');
const op_sub_Tensor = operator('sub', 'Tensor', 'self,other,alpha');
const op_sub_Scalar = operator('sub', 'Scalar', 'self,other,alpha');
const op_sub__Tensor = operator('sub_', 'Tensor', 'self,other,alpha');
const op_sub__Scalar = operator('sub_', 'Scalar', 'self,other,alpha');
const op_mul_Tensor = operator('mul', 'Tensor', 'self,other');
const op_mul_Scalar = operator('mul', 'Scalar', 'self,other');
const op_mul__Tensor = operator('mul_', 'Tensor', 'self,other');
const op_mul__Scalar = operator('mul_', 'Scalar', 'self,other');
const op_mul_out = operator('mul', 'out', 'self,other,out');
const op_div_Tensor = operator('div', 'Tensor', 'self,other');
const op_div_Scalar = operator('div', 'Scalar', 'self,other');
const op_div_Tensor_mode = operator('div', 'Tensor_mode', 'self,other,rounding_mode');
const op_div_Scalar_mode = operator('div', 'Scalar_mode', 'self,other,rounding_mode');
const op_div__Tensor = operator('div_', 'Tensor', 'self,other');
const op_div__Scalar = operator('div_', 'Scalar', 'self,other');
const op_remainder_Tensor = operator('remainder', 'Tensor', 'self,other');
const op_remainder_Scalar = operator('remainder', 'Scalar', 'self,other');
const op_pow_Tensor_Scalar = operator('pow', 'Tensor_Scalar', 'self,exponent');
const op_pow_Tensor_Tensor = operator('pow', 'Tensor_Tensor', 'self,exponent');
const op_rsub_Tensor = operator('rsub', 'Tensor', 'self,other,alpha');
const op_rsub_Scalar = operator('rsub', 'Scalar', 'self,other,alpha');
const op_neg = operator('neg', '', 'self');
const op_neg_ = operator('neg_', '', 'self');
const op_abs = operator('abs', '', 'self');
const op_exp = operator('exp', '', 'self');
const op_exp_ = operator('exp_', '', 'self');
const op_log = operator('log', '', 'self');
const op_log1p = operator('log1p', '', 'self');
const op_expm1 = operator('expm1', '', 'self');
const op_sqrt = operator('sqrt', '', 'self');
const op_rsqrt = operator('rsqrt', '', 'self');
const op_reciprocal = operator('reciprocal', '', 'self');
const op_square = operator('square', '', 'self');
const op_sin = operator('sin', '', 'self');
const op_cos = operator('cos', '', 'self');
const op_tanh = operator('tanh', '', 'self');
const op_sigmoid = operator('sigmoid', '', 'self');
const op_erf = operator('erf', '', 'self');
const op_floor = operator('floor', '', 'self');
const op_round = operator('round', '', 'self');
const op_sign = operator('sign', '', 'self');
const op_clamp = operator('clamp', '', 'self,min,max');
const op_clamp_Tensor = operator('clamp', 'Tensor', 'self,min,max');
const op_clamp_ = operator('clamp_', '', 'self,min,max');
const op_maximum = operator('maximum', '', 'self,other');
const op_minimum = operator('minimum', '', 'self,other');
const op_addcmul = operator('addcmul', '', 'self,tensor1,tensor2,value');
const op_addcdiv = operator('addcdiv', '', 'self,tensor1,tensor2,value');
const op_addcmul_ = operator('addcmul_', '', 'self,tensor1,tensor2,value');
const op_addcdiv_ = operator('addcdiv_', '', 'self,tensor1,tensor2,value');
const op_lerp_Scalar = operator('lerp', 'Scalar', 'self,end,weight');
const op_lerp_Tensor = operator('lerp', 'Tensor', 'self,end,weight');
const op_lerp__Scalar = operator('lerp_', 'Scalar', 'self,end,weight');
const op_lerp__Tensor = operator('lerp_', 'Tensor', 'self,end,weight');
const op_nan_to_num = operator('nan_to_num', '', 'self,nan,posinf,neginf');
const op_relu = operator('relu', '', 'self');
const op_silu = operator('silu', '', 'self');
const op_silu_ = operator('silu_', '', 'self');
const op_silu_out = operator('silu', 'out', 'self,out');
const op_gelu = operator('gelu', '', 'self,approximate');
const op_softplus = operator('softplus', '', 'self,beta,threshold');
const op_softmax_int = operator('softmax', 'int', 'self,dim,dtype');
const op_log_softmax_int = operator('log_softmax', 'int', 'self,dim,dtype');
const op_log_sigmoid = operator('log_sigmoid', '', 'self');
const op_dropout = operator('dropout', '', 'input,p,train');
const op_matmul = operator('matmul', '', 'self,other');
const op_mm = operator('mm', '', 'self,mat2');
const op_bmm = operator('bmm', '', 'self,mat2');
const op_addmm = operator('addmm', '', 'self,mat1,mat2,beta,alpha');
const op_addmm_ = operator('addmm_', '', 'self,mat1,mat2,beta,alpha');
const op_baddbmm = operator('baddbmm', '', 'self,batch1,batch2,beta,alpha');
const op_linear = operator('linear', '', 'input,weight,bias');
const op_einsum = operator('einsum', '', 'equation,tensors,path');
const op_sum = operator('sum', '', 'self,dtype');
const op_sum_dim_IntList = operator('sum', 'dim_IntList', 'self,dim,keepdim,dtype');
const op_mean = operator('mean', '', 'self,dtype');
const op_mean_dim = operator('mean', 'dim', 'self,dim,keepdim,dtype');
const op_std = operator('std', '', 'self,unbiased');
const op_std_correction = operator('std', 'correction', 'self,dim,correction,keepdim');
const op_var = operator('var', '', 'self,unbiased');
const op_var_correction = operator('var', 'correction', 'self,dim,correction,keepdim');
const op_max = operator('max', '', 'self');
const op_max_dim = operator('max', 'dim', 'self,dim,keepdim');
const op_min = operator('min', '', 'self');
const op_min_dim = operator('min', 'dim', 'self,dim,keepdim');
const op_amax = operator('amax', '', 'self,dim,keepdim');
const op_amin = operator('amin', '', 'self,dim,keepdim');
const op_argmax = operator('argmax', '', 'self,dim,keepdim');
const op_argmin = operator('argmin', '', 'self,dim,keepdim');
const op_logsumexp = operator('logsumexp', '', 'self,dim,keepdim');
const op_cumsum = operator('cumsum', '', 'self,dim,dtype');
const op_cumprod = operator('cumprod', '', 'self,dim,dtype');
const op_prod = operator('prod', '', 'self,dtype');
const op_prod_dim_int = operator('prod', 'dim_int', 'self,dim,keepdim,dtype');
const op_linalg_vector_norm = operator('linalg_vector_norm', '', 'self,ord,dim,keepdim,dtype');
const op_any = operator('any', '', 'self');
const op_any_dim = operator('any', 'dim', 'self,dim,keepdim');
const op_all = operator('all', '', 'self');
const op_all_dim = operator('all', 'dim', 'self,dim,keepdim');
const op_count_nonzero = operator('count_nonzero', '', 'self,dim');
const op_topk = operator('topk', '', 'self,k,dim,largest,sorted');
const op_sort = operator('sort', '', 'self,dim,descending');
const op_argsort = operator('argsort', '', 'self,dim,descending');
const op_eq_Tensor = operator('eq', 'Tensor', 'self,other');
const op_eq_Scalar = operator('eq', 'Scalar', 'self,other');
const op_ne_Tensor = operator('ne', 'Tensor', 'self,other');
const op_ne_Scalar = operator('ne', 'Scalar', 'self,other');
const op_lt_Tensor = operator('lt', 'Tensor', 'self,other');
const op_lt_Scalar = operator('lt', 'Scalar', 'self,other');
const op_le_Tensor = operator('le', 'Tensor', 'self,other');
const op_le_Scalar = operator('le', 'Scalar', 'self,other');
const op_gt_Tensor = operator('gt', 'Tensor', 'self,other');
const op_gt_Scalar = operator('gt', 'Scalar', 'self,other');
const op_ge_Tensor = operator('ge', 'Tensor', 'self,other');
const op_ge_Scalar = operator('ge', 'Scalar', 'self,other');
const op_logical_and = operator('logical_and', '', 'self,other');
const op_logical_or = operator('logical_or', '', 'self,other');
const op_logical_not = operator('logical_not', '', 'self');
const op_isnan = operator('isnan', '', 'self');
const op_isinf = operator('isinf', '', 'self');
const op_isfinite = operator('isfinite', '', 'self');
const op_where_self = operator('where', 'self', 'condition,self,other');
const op_masked_fill_Scalar = operator('masked_fill', 'Scalar', 'self,mask,value');
const op_masked_fill_Tensor = operator('masked_fill', 'Tensor', 'self,mask,value');
const op_masked_fill__Scalar = operator('masked_fill_', 'Scalar', 'self,mask,value');
const op_masked_fill__Tensor = operator('masked_fill_', 'Tensor', 'self,mask,value');
const op_masked_select = operator('masked_select', '', 'self,mask');
const op_allclose = operator('allclose', '', 'self,other,rtol,atol,equal_nan');
const op_equal = operator('equal', '', 'self,other');
const op_view = operator('view', '', 'self,size');
const op_view_dtype = operator('view', 'dtype', 'self,dtype');
const op_reshape = operator('reshape', '', 'self,shape');
const op_flatten_using_ints = operator('flatten', 'using_ints', 'self,start_dim,end_dim');
const op_unflatten_int = operator('unflatten', 'int', 'self,dim,sizes');
const op_squeeze = operator('squeeze', '', 'self');
const op_squeeze_dim = operator('squeeze', 'dim', 'self,dim');
const op_unsqueeze = operator('unsqueeze', '', 'self,dim');
const op_transpose_int = operator('transpose', 'int', 'self,dim0,dim1');
const op_t = operator('t', '', 'self');
const op_permute = operator('permute', '', 'self,dims');
const op_expand = operator('expand', '', 'self,size,implicit');
const op_repeat = operator('repeat', '', 'self,repeats');
const op_repeat_interleave_self_int = operator('repeat_interleave', 'self_int', 'self,repeats,dim,output_size');
const op_repeat_interleave_self_Tensor = operator('repeat_interleave', 'self_Tensor', 'self,repeats,dim,output_size');
const op_contiguous = operator('contiguous', '', 'self,memory_format');
const op_cat = operator('cat', '', 'tensors,dim');
const op_stack = operator('stack', '', 'tensors,dim');
const op_split_Tensor = operator('split', 'Tensor', 'self,split_size,dim');
const op_split_with_sizes = operator('split_with_sizes', '', 'self,split_sizes,dim');
const op_chunk = operator('chunk', '', 'self,chunks,dim');
const op_unbind_int = operator('unbind', 'int', 'self,dim');
const op_roll = operator('roll', '', 'self,shifts,dims');
const op_flip = operator('flip', '', 'self,dims');
const op_constant_pad_nd = operator('constant_pad_nd', '', 'self,pad,value');
const op_tril = operator('tril', '', 'self,diagonal');
const op_triu = operator('triu', '', 'self,diagonal');
const op_diagonal = operator('diagonal', '', 'self,offset,dim1,dim2');
const op_select_int = operator('select', 'int', 'self,dim,index');
const op_slice_Tensor = operator('slice', 'Tensor', 'self,dim,start,end,step');
const op_narrow = operator('narrow', '', 'self,dim,start,length');
const op_index_select = operator('index_select', '', 'self,dim,index');
const op_index_add_ = operator('index_add_', '', 'self,dim,index,source,alpha');
const op_index_copy_ = operator('index_copy_', '', 'self,dim,index,source');
const op_index_fill__int_Scalar = operator('index_fill_', 'int_Scalar', 'self,dim,index,value');
const op_gather = operator('gather', '', 'self,dim,index,sparse_grad');
const op_scatter_src = operator('scatter', 'src', 'self,dim,index,src');
const op_scatter_value = operator('scatter', 'value', 'self,dim,index,value');
const op_scatter__src = operator('scatter_', 'src', 'self,dim,index,src');
const op_scatter__value = operator('scatter_', 'value', 'self,dim,index,value');
const op_scatter_add_ = operator('scatter_add_', '', 'self,dim,index,src');
const op_take_along_dim = operator('take_along_dim', '', 'self,indices,dim');
const op_index_Tensor = operator('index', 'Tensor', 'self,indices');
const op_index_put_ = operator('index_put_', '', 'self,indices,values,accumulate');
const op_nonzero = operator('nonzero', '', 'self');
const op_searchsorted_Tensor = operator('searchsorted', 'Tensor', 'sorted_sequence,self,out_int32,right,side,sorter');
const op_bincount = operator('bincount', '', 'self,weights,minlength');
const op_embedding = operator('embedding', '', 'weight,indices,padding_idx,scale_grad_by_freq,sparse');
const op_embedding_dense_backward = operator('embedding_dense_backward', '', 'grad_output,indices,num_weights,padding_idx,scale_grad_by_freq');
const op_empty_memory_format = operator('empty', 'memory_format', 'size,dtype,layout,device,pin_memory,memory_format');
const op_empty_like = operator('empty_like', '', 'self,dtype,layout,device,pin_memory,memory_format');
const op_zeros = operator('zeros', '', 'size,dtype,layout,device,pin_memory');
const op_zeros_like = operator('zeros_like', '', 'self,dtype,layout,device,pin_memory,memory_format');
const op_ones = operator('ones', '', 'size,dtype,layout,device,pin_memory');
const op_ones_like = operator('ones_like', '', 'self,dtype,layout,device,pin_memory,memory_format');
const op_full = operator('full', '', 'size,fill_value,dtype,layout,device,pin_memory');
const op_new_zeros = operator('new_zeros', '', 'self,size,dtype,layout,device,pin_memory');
const op_new_empty = operator('new_empty', '', 'self,size,dtype,layout,device,pin_memory');
const op_full_like = operator('full_like', '', 'self,fill_value,dtype,layout,device,pin_memory,memory_format');
const op_arange_start_step = operator('arange', 'start_step', 'start,end,step,dtype,layout,device,pin_memory');
const op_rand = operator('rand', '', 'size,dtype,layout,device,pin_memory');
const op_rand_generator = operator('rand', 'generator', 'size,generator,dtype,layout,device,pin_memory');
const op_randn = operator('randn', '', 'size,dtype,layout,device,pin_memory');
const op_randn_generator = operator('randn', 'generator', 'size,generator,dtype,layout,device,pin_memory');
const op_randint_low = operator('randint', 'low', 'low,high,size,dtype,layout,device,pin_memory');
const op_randint_low_generator = operator('randint', 'low_generator', 'low,high,size,generator,dtype,layout,device,pin_memory');
const op_randperm = operator('randperm', '', 'n,dtype,layout,device,pin_memory');
const op_randperm_generator = operator('randperm', 'generator', 'n,generator,dtype,layout,device,pin_memory');
const op_multinomial = operator('multinomial', '', 'self,num_samples,replacement,generator');
const op_bernoulli = operator('bernoulli', '', 'self,generator');
const op_bernoulli_p = operator('bernoulli', 'p', 'self,p,generator');
const op_uniform_ = operator('uniform_', '', 'self,from,to,generator');
const op_normal_ = operator('normal_', '', 'self,mean,std,generator');
const op_exponential_ = operator('exponential_', '', 'self,lambd,generator');
const op_eye = operator('eye', '', 'n,dtype,layout,device,pin_memory');
const op_clone = operator('clone', '', 'self,memory_format');
const op_detach = operator('detach', '', 'self');
const op_copy_ = operator('copy_', '', 'self,src,non_blocking');
const op_fill__Scalar = operator('fill_', 'Scalar', 'self,value');
const op_fill__Tensor = operator('fill_', 'Tensor', 'self,value');
const op_zero_ = operator('zero_', '', 'self');
const op__to_copy = operator('_to_copy', '', 'self,dtype,layout,device,pin_memory,non_blocking,memory_format');
const op_type_as = operator('type_as', '', 'self,other');
const op_set_data = operator('set_data', '', 'self,new_data');
const op_resize_ = operator('resize_', '', 'self,size,memory_format');
const op_layer_norm = operator('layer_norm', '', 'input,normalized_shape,weight,bias,eps,cudnn_enable');
const op_rms_norm = operator('rms_norm', '', 'input,normalized_shape,weight,eps');
const op_scaled_dot_product_attention = operator('scaled_dot_product_attention', '', 'query,key,value,attn_mask,dropout_p,is_causal,scale,enable_gqa');
const op__flash_attention_forward = operator('_flash_attention_forward', '', 'query,key,value,cum_seq_q,cum_seq_k,max_q,max_k,dropout_p,is_causal,return_debug_mask,scale,window_size_left,window_size_right,seqused_k,alibi_slopes,block_table,num_splits');
const op__flash_attention_backward = operator('_flash_attention_backward', '', 'grad_out,query,key,value,out,logsumexp,cum_seq_q,cum_seq_k,max_q,max_k,dropout_p,is_causal,rng_state,unused,scale,window_size_left,window_size_right');
const op__scaled_dot_product_flash_attention_for_cpu = operator('_scaled_dot_product_flash_attention_for_cpu', '', 'query,key,value,dropout_p,is_causal,attn_mask,scale');
const op__scaled_dot_product_flash_attention_for_cpu_backward = operator('_scaled_dot_product_flash_attention_for_cpu_backward', '', 'grad_out,query,key,value,out,logsumexp,dropout_p,is_causal,attn_mask,scale');
const op_conv1d = operator('conv1d', '', 'input,weight,bias,stride,padding,dilation,groups');
const op_conv2d = operator('conv2d', '', 'input,weight,bias,stride,padding,dilation,groups');
const op_conv3d = operator('conv3d', '', 'input,weight,bias,stride,padding,dilation,groups');
const op_cross_entropy_loss = operator('cross_entropy_loss', '', 'self,target,weight,reduction,ignore_index,label_smoothing');
const op_nll_loss = operator('nll_loss', '', 'self,target,weight,reduction,ignore_index');
const op_mse_loss = operator('mse_loss', '', 'self,target,reduction');
const op_silu_backward = operator('silu_backward', '', 'grad_output,self');
const op_silu_backward_grad_input = operator('silu_backward', 'grad_input', 'grad_output,self,grad_input');
const op__softmax_backward_data = operator('_softmax_backward_data', '', 'grad_output,output,dim,input_dtype');
const op__log_softmax_backward_data = operator('_log_softmax_backward_data', '', 'grad_output,output,dim,input_dtype');
const op__foreach_mul__Scalar = operator('_foreach_mul_', 'Scalar', 'self,scalar');
const op__foreach_mul__Tensor = operator('_foreach_mul_', 'Tensor', 'self,other');
const op__foreach_add__List = operator('_foreach_add_', 'List', 'self,other,alpha');
const op__foreach_add__Scalar = operator('_foreach_add_', 'Scalar', 'self,scalar');
const op__foreach_norm_Scalar = operator('_foreach_norm', 'Scalar', 'self,ord,dtype');
const op__foreach_copy_ = operator('_foreach_copy_', '', 'self,src,non_blocking');
const op__foreach_zero_ = operator('_foreach_zero_', '', 'self');
const op__foreach_sqrt = operator('_foreach_sqrt', '', 'self');
const op__foreach_div__List = operator('_foreach_div_', 'List', 'self,other');
const op__foreach_addcdiv__Scalar = operator('_foreach_addcdiv_', 'Scalar', 'self,tensor1,tensor2,value');
const op__foreach_addcmul__Scalar = operator('_foreach_addcmul_', 'Scalar', 'self,tensor1,tensor2,value');
const op__foreach_lerp__Scalar = operator('_foreach_lerp_', 'Scalar', 'self,tensors1,weight');
const op__fused_adamw_ = operator('_fused_adamw_', '', 'self,grads,exp_avgs,exp_avg_sqs,max_exp_avg_sqs,state_steps,lr,beta1,beta2,weight_decay,eps,amsgrad,maximize,grad_scale,found_inf');
const op__fused_sgd_ = operator('_fused_sgd_', '', 'self,grads,momentum_buffer_list,weight_decay,momentum,lr,dampening,nesterov,maximize,is_first_step,grad_scale,found_inf');
/** The operators that have a tensor as their first argument. */
export class TensorOperators extends Ref {
    /**
     * aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
     * aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor
     */
    add(other, options = {}) {
        if (isTensor(other)) {
            begin(op_add_Tensor);
            arg(this);
            arg(other);
            arg(options.alpha);
            return toTensor(op_add_Tensor);
        }
        begin(op_add_Scalar);
        arg(this);
        arg(other);
        arg(options.alpha);
        return toTensor(op_add_Scalar);
    }
    /**
     * aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)
     * aten::add_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1) -> Tensor(a!)
     */
    add_(other, options = {}) {
        if (isTensor(other)) {
            begin(op_add__Tensor);
            arg(this);
            arg(other);
            arg(options.alpha);
            toNothing(op_add__Tensor);
            return this;
        }
        begin(op_add__Scalar);
        arg(this);
        arg(other);
        arg(options.alpha);
        toNothing(op_add__Scalar);
        return this;
    }
    /**
     * aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
     * aten::sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor
     */
    sub(other, options = {}) {
        if (isTensor(other)) {
            begin(op_sub_Tensor);
            arg(this);
            arg(other);
            arg(options.alpha);
            return toTensor(op_sub_Tensor);
        }
        begin(op_sub_Scalar);
        arg(this);
        arg(other);
        arg(options.alpha);
        return toTensor(op_sub_Scalar);
    }
    /**
     * aten::sub_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)
     * aten::sub_.Scalar(Tensor(a!) self, Scalar other, Scalar alpha=1) -> Tensor(a!)
     */
    sub_(other, options = {}) {
        if (isTensor(other)) {
            begin(op_sub__Tensor);
            arg(this);
            arg(other);
            arg(options.alpha);
            toNothing(op_sub__Tensor);
            return this;
        }
        begin(op_sub__Scalar);
        arg(this);
        arg(other);
        arg(options.alpha);
        toNothing(op_sub__Scalar);
        return this;
    }
    /**
     * aten::mul.Tensor(Tensor self, Tensor other) -> Tensor
     * aten::mul.Scalar(Tensor self, Scalar other) -> Tensor
     */
    mul(other) {
        if (isTensor(other)) {
            begin(op_mul_Tensor);
            arg(this);
            arg(other);
            return toTensor(op_mul_Tensor);
        }
        begin(op_mul_Scalar);
        arg(this);
        arg(other);
        return toTensor(op_mul_Scalar);
    }
    /**
     * aten::mul_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
     * aten::mul_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
     */
    mul_(other) {
        if (isTensor(other)) {
            begin(op_mul__Tensor);
            arg(this);
            arg(other);
            toNothing(op_mul__Tensor);
            return this;
        }
        begin(op_mul__Scalar);
        arg(this);
        arg(other);
        toNothing(op_mul__Scalar);
        return this;
    }
    /**
     * aten::mul.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
     */
    mulOut(other, options) {
        begin(op_mul_out);
        arg(this);
        arg(other);
        arg(options.out);
        toNothing(op_mul_out);
        return;
    }
    /**
     * aten::div.Tensor(Tensor self, Tensor other) -> Tensor
     * aten::div.Scalar(Tensor self, Scalar other) -> Tensor
     * aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor
     * aten::div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor
     */
    div(other, options = {}) {
        if (isTensor(other) && options.roundingMode === undefined) {
            begin(op_div_Tensor);
            arg(this);
            arg(other);
            return toTensor(op_div_Tensor);
        }
        if (isNumber(other) && options.roundingMode === undefined) {
            begin(op_div_Scalar);
            arg(this);
            arg(other);
            return toTensor(op_div_Scalar);
        }
        if (isTensor(other) && options.roundingMode !== undefined) {
            begin(op_div_Tensor_mode);
            arg(this);
            arg(other);
            arg(options.roundingMode);
            return toTensor(op_div_Tensor_mode);
        }
        begin(op_div_Scalar_mode);
        arg(this);
        arg(other);
        arg(options.roundingMode);
        return toTensor(op_div_Scalar_mode);
    }
    /**
     * aten::div_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
     * aten::div_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)
     */
    div_(other) {
        if (isTensor(other)) {
            begin(op_div__Tensor);
            arg(this);
            arg(other);
            toNothing(op_div__Tensor);
            return this;
        }
        begin(op_div__Scalar);
        arg(this);
        arg(other);
        toNothing(op_div__Scalar);
        return this;
    }
    /**
     * aten::remainder.Tensor(Tensor self, Tensor other) -> Tensor
     * aten::remainder.Scalar(Tensor self, Scalar other) -> Tensor
     */
    remainder(other) {
        if (isTensor(other)) {
            begin(op_remainder_Tensor);
            arg(this);
            arg(other);
            return toTensor(op_remainder_Tensor);
        }
        begin(op_remainder_Scalar);
        arg(this);
        arg(other);
        return toTensor(op_remainder_Scalar);
    }
    /**
     * aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor
     * aten::pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor
     */
    pow(exponent) {
        if (isNumber(exponent)) {
            begin(op_pow_Tensor_Scalar);
            arg(this);
            arg(exponent);
            return toTensor(op_pow_Tensor_Scalar);
        }
        begin(op_pow_Tensor_Tensor);
        arg(this);
        arg(exponent);
        return toTensor(op_pow_Tensor_Tensor);
    }
    /**
     * aten::rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
     * aten::rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor
     */
    rsub(other, options = {}) {
        if (isTensor(other)) {
            begin(op_rsub_Tensor);
            arg(this);
            arg(other);
            arg(options.alpha);
            return toTensor(op_rsub_Tensor);
        }
        begin(op_rsub_Scalar);
        arg(this);
        arg(other);
        arg(options.alpha);
        return toTensor(op_rsub_Scalar);
    }
    /**
     * aten::neg(Tensor self) -> Tensor
     */
    neg() {
        begin(op_neg);
        arg(this);
        return toTensor(op_neg);
    }
    /**
     * aten::neg_(Tensor(a!) self) -> Tensor(a!)
     */
    neg_() {
        begin(op_neg_);
        arg(this);
        toNothing(op_neg_);
        return this;
    }
    /**
     * aten::abs(Tensor self) -> Tensor
     */
    abs() {
        begin(op_abs);
        arg(this);
        return toTensor(op_abs);
    }
    /**
     * aten::exp(Tensor self) -> Tensor
     */
    exp() {
        begin(op_exp);
        arg(this);
        return toTensor(op_exp);
    }
    /**
     * aten::exp_(Tensor(a!) self) -> Tensor(a!)
     */
    exp_() {
        begin(op_exp_);
        arg(this);
        toNothing(op_exp_);
        return this;
    }
    /**
     * aten::log(Tensor self) -> Tensor
     */
    log() {
        begin(op_log);
        arg(this);
        return toTensor(op_log);
    }
    /**
     * aten::log1p(Tensor self) -> Tensor
     */
    log1p() {
        begin(op_log1p);
        arg(this);
        return toTensor(op_log1p);
    }
    /**
     * aten::expm1(Tensor self) -> Tensor
     */
    expm1() {
        begin(op_expm1);
        arg(this);
        return toTensor(op_expm1);
    }
    /**
     * aten::sqrt(Tensor self) -> Tensor
     */
    sqrt() {
        begin(op_sqrt);
        arg(this);
        return toTensor(op_sqrt);
    }
    /**
     * aten::rsqrt(Tensor self) -> Tensor
     */
    rsqrt() {
        begin(op_rsqrt);
        arg(this);
        return toTensor(op_rsqrt);
    }
    /**
     * aten::reciprocal(Tensor self) -> Tensor
     */
    reciprocal() {
        begin(op_reciprocal);
        arg(this);
        return toTensor(op_reciprocal);
    }
    /**
     * aten::square(Tensor self) -> Tensor
     */
    square() {
        begin(op_square);
        arg(this);
        return toTensor(op_square);
    }
    /**
     * aten::sin(Tensor self) -> Tensor
     */
    sin() {
        begin(op_sin);
        arg(this);
        return toTensor(op_sin);
    }
    /**
     * aten::cos(Tensor self) -> Tensor
     */
    cos() {
        begin(op_cos);
        arg(this);
        return toTensor(op_cos);
    }
    /**
     * aten::tanh(Tensor self) -> Tensor
     */
    tanh() {
        begin(op_tanh);
        arg(this);
        return toTensor(op_tanh);
    }
    /**
     * aten::sigmoid(Tensor self) -> Tensor
     */
    sigmoid() {
        begin(op_sigmoid);
        arg(this);
        return toTensor(op_sigmoid);
    }
    /**
     * aten::erf(Tensor self) -> Tensor
     */
    erf() {
        begin(op_erf);
        arg(this);
        return toTensor(op_erf);
    }
    /**
     * aten::floor(Tensor self) -> Tensor
     */
    floor() {
        begin(op_floor);
        arg(this);
        return toTensor(op_floor);
    }
    /**
     * aten::round(Tensor self) -> Tensor
     */
    round() {
        begin(op_round);
        arg(this);
        return toTensor(op_round);
    }
    /**
     * aten::sign(Tensor self) -> Tensor
     */
    sign() {
        begin(op_sign);
        arg(this);
        return toTensor(op_sign);
    }
    /**
     * aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor
     * aten::clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor
     */
    clamp(min, max) {
        if ((min == null || isNumber(min)) && (max == null || isNumber(max))) {
            begin(op_clamp);
            arg(this);
            arg(min);
            arg(max);
            return toTensor(op_clamp);
        }
        begin(op_clamp_Tensor);
        arg(this);
        arg(min);
        arg(max);
        return toTensor(op_clamp_Tensor);
    }
    /**
     * aten::clamp_(Tensor(a!) self, Scalar? min=None, Scalar? max=None) -> Tensor(a!)
     */
    clamp_(min, max) {
        begin(op_clamp_);
        arg(this);
        arg(min);
        arg(max);
        toNothing(op_clamp_);
        return this;
    }
    /**
     * aten::maximum(Tensor self, Tensor other) -> Tensor
     */
    maximum(other) {
        begin(op_maximum);
        arg(this);
        arg(other);
        return toTensor(op_maximum);
    }
    /**
     * aten::minimum(Tensor self, Tensor other) -> Tensor
     */
    minimum(other) {
        begin(op_minimum);
        arg(this);
        arg(other);
        return toTensor(op_minimum);
    }
    /**
     * aten::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor
     */
    addcmul(tensor1, tensor2, options = {}) {
        begin(op_addcmul);
        arg(this);
        arg(tensor1);
        arg(tensor2);
        arg(options.value);
        return toTensor(op_addcmul);
    }
    /**
     * aten::addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor
     */
    addcdiv(tensor1, tensor2, options = {}) {
        begin(op_addcdiv);
        arg(this);
        arg(tensor1);
        arg(tensor2);
        arg(options.value);
        return toTensor(op_addcdiv);
    }
    /**
     * aten::addcmul_(Tensor(a!) self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor(a!)
     */
    addcmul_(tensor1, tensor2, options = {}) {
        begin(op_addcmul_);
        arg(this);
        arg(tensor1);
        arg(tensor2);
        arg(options.value);
        toNothing(op_addcmul_);
        return this;
    }
    /**
     * aten::addcdiv_(Tensor(a!) self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor(a!)
     */
    addcdiv_(tensor1, tensor2, options = {}) {
        begin(op_addcdiv_);
        arg(this);
        arg(tensor1);
        arg(tensor2);
        arg(options.value);
        toNothing(op_addcdiv_);
        return this;
    }
    /**
     * aten::lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor
     * aten::lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor
     */
    lerp(end, weight) {
        if (isTensor(end) && isNumber(weight)) {
            begin(op_lerp_Scalar);
            arg(this);
            arg(end);
            arg(weight);
            return toTensor(op_lerp_Scalar);
        }
        begin(op_lerp_Tensor);
        arg(this);
        arg(end);
        arg(weight);
        return toTensor(op_lerp_Tensor);
    }
    /**
     * aten::lerp_.Scalar(Tensor(a!) self, Tensor end, Scalar weight) -> Tensor(a!)
     * aten::lerp_.Tensor(Tensor(a!) self, Tensor end, Tensor weight) -> Tensor(a!)
     */
    lerp_(end, weight) {
        if (isTensor(end) && isNumber(weight)) {
            begin(op_lerp__Scalar);
            arg(this);
            arg(end);
            arg(weight);
            toNothing(op_lerp__Scalar);
            return this;
        }
        begin(op_lerp__Tensor);
        arg(this);
        arg(end);
        arg(weight);
        toNothing(op_lerp__Tensor);
        return this;
    }
    /**
     * aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor
     */
    nanToNum(nan, posinf, neginf) {
        begin(op_nan_to_num);
        arg(this);
        arg(nan);
        arg(posinf);
        arg(neginf);
        return toTensor(op_nan_to_num);
    }
    /**
     * aten::relu(Tensor self) -> Tensor
     */
    relu() {
        begin(op_relu);
        arg(this);
        return toTensor(op_relu);
    }
    /**
     * aten::silu(Tensor self) -> Tensor
     */
    silu() {
        begin(op_silu);
        arg(this);
        return toTensor(op_silu);
    }
    /**
     * aten::silu_(Tensor(a!) self) -> Tensor(a!)
     */
    silu_() {
        begin(op_silu_);
        arg(this);
        toNothing(op_silu_);
        return this;
    }
    /**
     * aten::silu.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
     */
    siluOut(options) {
        begin(op_silu_out);
        arg(this);
        arg(options.out);
        toNothing(op_silu_out);
        return;
    }
    /**
     * aten::gelu(Tensor self, *, str approximate="none") -> Tensor
     */
    gelu(options = {}) {
        begin(op_gelu);
        arg(this);
        arg(options.approximate);
        return toTensor(op_gelu);
    }
    /**
     * aten::softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor
     */
    softplus(beta, threshold) {
        begin(op_softplus);
        arg(this);
        arg(beta);
        arg(threshold);
        return toTensor(op_softplus);
    }
    /**
     * aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor
     */
    softmax(dim, options = {}) {
        begin(op_softmax_int);
        arg(this);
        arg(dim);
        argDtype(options.dtype);
        return toTensor(op_softmax_int);
    }
    /**
     * aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor
     */
    logSoftmax(dim, options = {}) {
        begin(op_log_softmax_int);
        arg(this);
        arg(dim);
        argDtype(options.dtype);
        return toTensor(op_log_softmax_int);
    }
    /**
     * aten::log_sigmoid(Tensor self) -> Tensor
     */
    logsigmoid() {
        begin(op_log_sigmoid);
        arg(this);
        return toTensor(op_log_sigmoid);
    }
    /**
     * aten::matmul(Tensor self, Tensor other) -> Tensor
     */
    matmul(other) {
        begin(op_matmul);
        arg(this);
        arg(other);
        return toTensor(op_matmul);
    }
    /**
     * aten::mm(Tensor self, Tensor mat2) -> Tensor
     */
    mm(mat2) {
        begin(op_mm);
        arg(this);
        arg(mat2);
        return toTensor(op_mm);
    }
    /**
     * aten::bmm(Tensor self, Tensor mat2) -> Tensor
     */
    bmm(mat2) {
        begin(op_bmm);
        arg(this);
        arg(mat2);
        return toTensor(op_bmm);
    }
    /**
     * aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor
     */
    addmm(mat1, mat2, options = {}) {
        begin(op_addmm);
        arg(this);
        arg(mat1);
        arg(mat2);
        arg(options.beta);
        arg(options.alpha);
        return toTensor(op_addmm);
    }
    /**
     * aten::addmm_(Tensor(a!) self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor(a!)
     */
    addmm_(mat1, mat2, options = {}) {
        begin(op_addmm_);
        arg(this);
        arg(mat1);
        arg(mat2);
        arg(options.beta);
        arg(options.alpha);
        toNothing(op_addmm_);
        return this;
    }
    /**
     * aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor
     */
    baddbmm(batch1, batch2, options = {}) {
        begin(op_baddbmm);
        arg(this);
        arg(batch1);
        arg(batch2);
        arg(options.beta);
        arg(options.alpha);
        return toTensor(op_baddbmm);
    }
    /**
     * aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor
     * aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
     */
    sum(dim, options = {}) {
        if (dim === undefined && options.keepdim === undefined) {
            begin(op_sum);
            arg(this);
            argDtype(options.dtype);
            return toTensor(op_sum);
        }
        begin(op_sum_dim_IntList);
        arg(this);
        arg(dim);
        arg(options.keepdim);
        argDtype(options.dtype);
        return toTensor(op_sum_dim_IntList);
    }
    /**
     * aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor
     * aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
     */
    mean(dim, options = {}) {
        if (dim === undefined && options.keepdim === undefined) {
            begin(op_mean);
            arg(this);
            argDtype(options.dtype);
            return toTensor(op_mean);
        }
        begin(op_mean_dim);
        arg(this);
        arg(dim);
        arg(options.keepdim);
        argDtype(options.dtype);
        return toTensor(op_mean_dim);
    }
    /**
     * aten::std(Tensor self, bool unbiased=True) -> Tensor
     * aten::std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor
     */
    std(dim, options = {}) {
        if (dim === undefined && options.correction === undefined && options.keepdim === undefined) {
            begin(op_std);
            arg(this);
            arg(options.unbiased);
            return toTensor(op_std);
        }
        begin(op_std_correction);
        arg(this);
        arg(dim);
        arg(options.correction);
        arg(options.keepdim);
        return toTensor(op_std_correction);
    }
    /**
     * aten::var(Tensor self, bool unbiased=True) -> Tensor
     * aten::var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor
     */
    variance(dim, options = {}) {
        if (dim === undefined && options.correction === undefined && options.keepdim === undefined) {
            begin(op_var);
            arg(this);
            arg(options.unbiased);
            return toTensor(op_var);
        }
        begin(op_var_correction);
        arg(this);
        arg(dim);
        arg(options.correction);
        arg(options.keepdim);
        return toTensor(op_var_correction);
    }
    /**
     * aten::max(Tensor self) -> Tensor
     * aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
     */
    max(dim, options = {}) {
        if (dim === undefined && options.keepdim === undefined) {
            begin(op_max);
            arg(this);
            return toTensor(op_max);
        }
        begin(op_max_dim);
        arg(this);
        arg(dim);
        arg(options.keepdim);
        return toSeveral(op_max_dim, 2);
    }
    /**
     * aten::min(Tensor self) -> Tensor
     * aten::min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)
     */
    min(dim, options = {}) {
        if (dim === undefined && options.keepdim === undefined) {
            begin(op_min);
            arg(this);
            return toTensor(op_min);
        }
        begin(op_min_dim);
        arg(this);
        arg(dim);
        arg(options.keepdim);
        return toSeveral(op_min_dim, 2);
    }
    /**
     * aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor
     */
    amax(dim, options = {}) {
        begin(op_amax);
        arg(this);
        arg(dim);
        arg(options.keepdim);
        return toTensor(op_amax);
    }
    /**
     * aten::amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor
     */
    amin(dim, options = {}) {
        begin(op_amin);
        arg(this);
        arg(dim);
        arg(options.keepdim);
        return toTensor(op_amin);
    }
    /**
     * aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor
     */
    argmax(dim, options = {}) {
        begin(op_argmax);
        arg(this);
        arg(dim);
        arg(options.keepdim);
        return toTensor(op_argmax);
    }
    /**
     * aten::argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor
     */
    argmin(dim, options = {}) {
        begin(op_argmin);
        arg(this);
        arg(dim);
        arg(options.keepdim);
        return toTensor(op_argmin);
    }
    /**
     * aten::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor
     */
    logsumexp(dim, options = {}) {
        begin(op_logsumexp);
        arg(this);
        arg(dim);
        arg(options.keepdim);
        return toTensor(op_logsumexp);
    }
    /**
     * aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor
     */
    cumsum(dim, options = {}) {
        begin(op_cumsum);
        arg(this);
        arg(dim);
        argDtype(options.dtype);
        return toTensor(op_cumsum);
    }
    /**
     * aten::cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor
     */
    cumprod(dim, options = {}) {
        begin(op_cumprod);
        arg(this);
        arg(dim);
        argDtype(options.dtype);
        return toTensor(op_cumprod);
    }
    /**
     * aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor
     * aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
     */
    prod(dim, options = {}) {
        if (dim === undefined && options.keepdim === undefined) {
            begin(op_prod);
            arg(this);
            argDtype(options.dtype);
            return toTensor(op_prod);
        }
        begin(op_prod_dim_int);
        arg(this);
        arg(dim);
        arg(options.keepdim);
        argDtype(options.dtype);
        return toTensor(op_prod_dim_int);
    }
    /**
     * aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor
     */
    norm(ord, dim, options = {}) {
        begin(op_linalg_vector_norm);
        arg(this);
        arg(ord);
        arg(dim);
        arg(options.keepdim);
        argDtype(options.dtype);
        return toTensor(op_linalg_vector_norm);
    }
    /**
     * aten::any(Tensor self) -> Tensor
     * aten::any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor
     */
    any(dim, options = {}) {
        if (dim === undefined && options.keepdim === undefined) {
            begin(op_any);
            arg(this);
            return toTensor(op_any);
        }
        begin(op_any_dim);
        arg(this);
        arg(dim);
        arg(options.keepdim);
        return toTensor(op_any_dim);
    }
    /**
     * aten::all(Tensor self) -> Tensor
     * aten::all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor
     */
    all(dim, options = {}) {
        if (dim === undefined && options.keepdim === undefined) {
            begin(op_all);
            arg(this);
            return toTensor(op_all);
        }
        begin(op_all_dim);
        arg(this);
        arg(dim);
        arg(options.keepdim);
        return toTensor(op_all_dim);
    }
    /**
     * aten::count_nonzero(Tensor self, int? dim=None) -> Tensor
     */
    countNonzero(dim) {
        begin(op_count_nonzero);
        arg(this);
        arg(dim);
        return toTensor(op_count_nonzero);
    }
    /**
     * aten::topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)
     */
    topk(k, dim, options = {}) {
        begin(op_topk);
        arg(this);
        arg(k);
        arg(dim);
        arg(options.largest);
        arg(options.sorted);
        return toSeveral(op_topk, 2);
    }
    /**
     * aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)
     */
    sort(dim, options = {}) {
        begin(op_sort);
        arg(this);
        arg(dim);
        arg(options.descending);
        return toSeveral(op_sort, 2);
    }
    /**
     * aten::argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor
     */
    argsort(dim, options = {}) {
        begin(op_argsort);
        arg(this);
        arg(dim);
        arg(options.descending);
        return toTensor(op_argsort);
    }
    /**
     * aten::eq.Tensor(Tensor self, Tensor other) -> Tensor
     * aten::eq.Scalar(Tensor self, Scalar other) -> Tensor
     */
    eq(other) {
        if (isTensor(other)) {
            begin(op_eq_Tensor);
            arg(this);
            arg(other);
            return toTensor(op_eq_Tensor);
        }
        begin(op_eq_Scalar);
        arg(this);
        arg(other);
        return toTensor(op_eq_Scalar);
    }
    /**
     * aten::ne.Tensor(Tensor self, Tensor other) -> Tensor
     * aten::ne.Scalar(Tensor self, Scalar other) -> Tensor
     */
    ne(other) {
        if (isTensor(other)) {
            begin(op_ne_Tensor);
            arg(this);
            arg(other);
            return toTensor(op_ne_Tensor);
        }
        begin(op_ne_Scalar);
        arg(this);
        arg(other);
        return toTensor(op_ne_Scalar);
    }
    /**
     * aten::lt.Tensor(Tensor self, Tensor other) -> Tensor
     * aten::lt.Scalar(Tensor self, Scalar other) -> Tensor
     */
    lt(other) {
        if (isTensor(other)) {
            begin(op_lt_Tensor);
            arg(this);
            arg(other);
            return toTensor(op_lt_Tensor);
        }
        begin(op_lt_Scalar);
        arg(this);
        arg(other);
        return toTensor(op_lt_Scalar);
    }
    /**
     * aten::le.Tensor(Tensor self, Tensor other) -> Tensor
     * aten::le.Scalar(Tensor self, Scalar other) -> Tensor
     */
    le(other) {
        if (isTensor(other)) {
            begin(op_le_Tensor);
            arg(this);
            arg(other);
            return toTensor(op_le_Tensor);
        }
        begin(op_le_Scalar);
        arg(this);
        arg(other);
        return toTensor(op_le_Scalar);
    }
    /**
     * aten::gt.Tensor(Tensor self, Tensor other) -> Tensor
     * aten::gt.Scalar(Tensor self, Scalar other) -> Tensor
     */
    gt(other) {
        if (isTensor(other)) {
            begin(op_gt_Tensor);
            arg(this);
            arg(other);
            return toTensor(op_gt_Tensor);
        }
        begin(op_gt_Scalar);
        arg(this);
        arg(other);
        return toTensor(op_gt_Scalar);
    }
    /**
     * aten::ge.Tensor(Tensor self, Tensor other) -> Tensor
     * aten::ge.Scalar(Tensor self, Scalar other) -> Tensor
     */
    ge(other) {
        if (isTensor(other)) {
            begin(op_ge_Tensor);
            arg(this);
            arg(other);
            return toTensor(op_ge_Tensor);
        }
        begin(op_ge_Scalar);
        arg(this);
        arg(other);
        return toTensor(op_ge_Scalar);
    }
    /**
     * aten::logical_and(Tensor self, Tensor other) -> Tensor
     */
    logicalAnd(other) {
        begin(op_logical_and);
        arg(this);
        arg(other);
        return toTensor(op_logical_and);
    }
    /**
     * aten::logical_or(Tensor self, Tensor other) -> Tensor
     */
    logicalOr(other) {
        begin(op_logical_or);
        arg(this);
        arg(other);
        return toTensor(op_logical_or);
    }
    /**
     * aten::logical_not(Tensor self) -> Tensor
     */
    logicalNot() {
        begin(op_logical_not);
        arg(this);
        return toTensor(op_logical_not);
    }
    /**
     * aten::isnan(Tensor self) -> Tensor
     */
    isnan() {
        begin(op_isnan);
        arg(this);
        return toTensor(op_isnan);
    }
    /**
     * aten::isinf(Tensor self) -> Tensor
     */
    isinf() {
        begin(op_isinf);
        arg(this);
        return toTensor(op_isinf);
    }
    /**
     * aten::isfinite(Tensor self) -> Tensor
     */
    isfinite() {
        begin(op_isfinite);
        arg(this);
        return toTensor(op_isfinite);
    }
    /**
     * aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor
     * aten::masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor
     */
    maskedFill(mask, value) {
        if (isTensor(mask) && isNumber(value)) {
            begin(op_masked_fill_Scalar);
            arg(this);
            arg(mask);
            arg(value);
            return toTensor(op_masked_fill_Scalar);
        }
        begin(op_masked_fill_Tensor);
        arg(this);
        arg(mask);
        arg(value);
        return toTensor(op_masked_fill_Tensor);
    }
    /**
     * aten::masked_fill_.Scalar(Tensor(a!) self, Tensor mask, Scalar value) -> Tensor(a!)
     * aten::masked_fill_.Tensor(Tensor(a!) self, Tensor mask, Tensor value) -> Tensor(a!)
     */
    maskedFill_(mask, value) {
        if (isTensor(mask) && isNumber(value)) {
            begin(op_masked_fill__Scalar);
            arg(this);
            arg(mask);
            arg(value);
            toNothing(op_masked_fill__Scalar);
            return this;
        }
        begin(op_masked_fill__Tensor);
        arg(this);
        arg(mask);
        arg(value);
        toNothing(op_masked_fill__Tensor);
        return this;
    }
    /**
     * aten::masked_select(Tensor self, Tensor mask) -> Tensor
     */
    maskedSelect(mask) {
        begin(op_masked_select);
        arg(this);
        arg(mask);
        return toTensor(op_masked_select);
    }
    /**
     * aten::allclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False) -> bool
     */
    allclose(other, rtol, atol, options = {}) {
        begin(op_allclose);
        arg(this);
        arg(other);
        arg(rtol);
        arg(atol);
        arg(options.equalNan);
        return toScalar(op_allclose);
    }
    /**
     * aten::equal(Tensor self, Tensor other) -> bool
     */
    equal(other) {
        begin(op_equal);
        arg(this);
        arg(other);
        return toScalar(op_equal);
    }
    /**
     * aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)
     */
    view(size) {
        begin(op_view);
        arg(this);
        arg(size);
        return toTensor(op_view);
    }
    /**
     * aten::view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)
     */
    viewDtype(options) {
        begin(op_view_dtype);
        arg(this);
        argDtype(options.dtype);
        return toTensor(op_view_dtype);
    }
    /**
     * aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)
     */
    reshape(shape) {
        begin(op_reshape);
        arg(this);
        arg(shape);
        return toTensor(op_reshape);
    }
    /**
     * aten::flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)
     */
    flatten(startDim, endDim) {
        begin(op_flatten_using_ints);
        arg(this);
        arg(startDim);
        arg(endDim);
        return toTensor(op_flatten_using_ints);
    }
    /**
     * aten::unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)
     */
    unflatten(dim, sizes) {
        begin(op_unflatten_int);
        arg(this);
        arg(dim);
        arg(sizes);
        return toTensor(op_unflatten_int);
    }
    /**
     * aten::squeeze(Tensor(a) self) -> Tensor(a)
     * aten::squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)
     */
    squeeze(dim) {
        if (dim === undefined) {
            begin(op_squeeze);
            arg(this);
            return toTensor(op_squeeze);
        }
        begin(op_squeeze_dim);
        arg(this);
        arg(dim);
        return toTensor(op_squeeze_dim);
    }
    /**
     * aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a)
     */
    unsqueeze(dim) {
        begin(op_unsqueeze);
        arg(this);
        arg(dim);
        return toTensor(op_unsqueeze);
    }
    /**
     * aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)
     */
    transpose(dim0, dim1) {
        begin(op_transpose_int);
        arg(this);
        arg(dim0);
        arg(dim1);
        return toTensor(op_transpose_int);
    }
    /**
     * aten::t(Tensor(a) self) -> Tensor(a)
     */
    t() {
        begin(op_t);
        arg(this);
        return toTensor(op_t);
    }
    /**
     * aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)
     */
    permute(dims) {
        begin(op_permute);
        arg(this);
        arg(dims);
        return toTensor(op_permute);
    }
    /**
     * aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)
     */
    expand(size, options = {}) {
        begin(op_expand);
        arg(this);
        arg(size);
        arg(options.implicit);
        return toTensor(op_expand);
    }
    /**
     * aten::repeat(Tensor self, SymInt[] repeats) -> Tensor
     */
    repeat(repeats) {
        begin(op_repeat);
        arg(this);
        arg(repeats);
        return toTensor(op_repeat);
    }
    /**
     * aten::repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor
     * aten::repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor
     */
    repeatInterleave(repeats, dim, options = {}) {
        if (isNumber(repeats) && (dim == null || isNumber(dim))) {
            begin(op_repeat_interleave_self_int);
            arg(this);
            arg(repeats);
            arg(dim);
            arg(options.outputSize);
            return toTensor(op_repeat_interleave_self_int);
        }
        begin(op_repeat_interleave_self_Tensor);
        arg(this);
        arg(repeats);
        arg(dim);
        arg(options.outputSize);
        return toTensor(op_repeat_interleave_self_Tensor);
    }
    /**
     * aten::contiguous(Tensor(a) self, *, MemoryFormat memory_format=0) -> Tensor(a)
     */
    contiguous() {
        begin(op_contiguous);
        arg(this);
        arg(undefined);
        return toTensor(op_contiguous);
    }
    /**
     * aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]
     */
    split(splitSize, dim) {
        begin(op_split_Tensor);
        arg(this);
        arg(splitSize);
        arg(dim);
        return toList(op_split_Tensor);
    }
    /**
     * aten::split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]
     */
    splitWithSizes(splitSizes, dim) {
        begin(op_split_with_sizes);
        arg(this);
        arg(splitSizes);
        arg(dim);
        return toList(op_split_with_sizes);
    }
    /**
     * aten::chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]
     */
    chunk(chunks, dim) {
        begin(op_chunk);
        arg(this);
        arg(chunks);
        arg(dim);
        return toList(op_chunk);
    }
    /**
     * aten::unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]
     */
    unbind(dim) {
        begin(op_unbind_int);
        arg(this);
        arg(dim);
        return toList(op_unbind_int);
    }
    /**
     * aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor
     */
    roll(shifts, dims) {
        begin(op_roll);
        arg(this);
        arg(shifts);
        arg(dims);
        return toTensor(op_roll);
    }
    /**
     * aten::flip(Tensor self, int[] dims) -> Tensor
     */
    flip(dims) {
        begin(op_flip);
        arg(this);
        arg(dims);
        return toTensor(op_flip);
    }
    /**
     * aten::constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor
     */
    pad(pad, value) {
        begin(op_constant_pad_nd);
        arg(this);
        arg(pad);
        arg(value);
        return toTensor(op_constant_pad_nd);
    }
    /**
     * aten::tril(Tensor self, SymInt diagonal=0) -> Tensor
     */
    tril(diagonal) {
        begin(op_tril);
        arg(this);
        arg(diagonal);
        return toTensor(op_tril);
    }
    /**
     * aten::triu(Tensor self, SymInt diagonal=0) -> Tensor
     */
    triu(diagonal) {
        begin(op_triu);
        arg(this);
        arg(diagonal);
        return toTensor(op_triu);
    }
    /**
     * aten::diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)
     */
    diagonal(offset, dim1, dim2) {
        begin(op_diagonal);
        arg(this);
        arg(offset);
        arg(dim1);
        arg(dim2);
        return toTensor(op_diagonal);
    }
    /**
     * aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)
     */
    select(dim, index) {
        begin(op_select_int);
        arg(this);
        arg(dim);
        arg(index);
        return toTensor(op_select_int);
    }
    /**
     * aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)
     */
    slice(dim, start, end, step) {
        begin(op_slice_Tensor);
        arg(this);
        arg(dim);
        arg(start);
        arg(end);
        arg(step);
        return toTensor(op_slice_Tensor);
    }
    /**
     * aten::narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)
     */
    narrow(dim, start, length) {
        begin(op_narrow);
        arg(this);
        arg(dim);
        arg(start);
        arg(length);
        return toTensor(op_narrow);
    }
    /**
     * aten::index_select(Tensor self, int dim, Tensor index) -> Tensor
     */
    indexSelect(dim, index) {
        begin(op_index_select);
        arg(this);
        arg(dim);
        arg(index);
        return toTensor(op_index_select);
    }
    /**
     * aten::index_add_(Tensor(a!) self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor(a!)
     */
    indexAdd_(dim, index, source, options = {}) {
        begin(op_index_add_);
        arg(this);
        arg(dim);
        arg(index);
        arg(source);
        arg(options.alpha);
        toNothing(op_index_add_);
        return this;
    }
    /**
     * aten::index_copy_(Tensor(a!) self, int dim, Tensor index, Tensor source) -> Tensor(a!)
     */
    indexCopy_(dim, index, source) {
        begin(op_index_copy_);
        arg(this);
        arg(dim);
        arg(index);
        arg(source);
        toNothing(op_index_copy_);
        return this;
    }
    /**
     * aten::index_fill_.int_Scalar(Tensor(a!) self, int dim, Tensor index, Scalar value) -> Tensor(a!)
     */
    indexFill_(dim, index, value) {
        begin(op_index_fill__int_Scalar);
        arg(this);
        arg(dim);
        arg(index);
        arg(value);
        toNothing(op_index_fill__int_Scalar);
        return this;
    }
    /**
     * aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor
     */
    gather(dim, index, options = {}) {
        begin(op_gather);
        arg(this);
        arg(dim);
        arg(index);
        arg(options.sparseGrad);
        return toTensor(op_gather);
    }
    /**
     * aten::scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor
     * aten::scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor
     */
    scatter(dim, index, src) {
        if (isNumber(dim) && isTensor(index) && isTensor(src)) {
            begin(op_scatter_src);
            arg(this);
            arg(dim);
            arg(index);
            arg(src);
            return toTensor(op_scatter_src);
        }
        begin(op_scatter_value);
        arg(this);
        arg(dim);
        arg(index);
        arg(src);
        return toTensor(op_scatter_value);
    }
    /**
     * aten::scatter_.src(Tensor(a!) self, int dim, Tensor index, Tensor src) -> Tensor(a!)
     * aten::scatter_.value(Tensor(a!) self, int dim, Tensor index, Scalar value) -> Tensor(a!)
     */
    scatter_(dim, index, src) {
        if (isNumber(dim) && isTensor(index) && isTensor(src)) {
            begin(op_scatter__src);
            arg(this);
            arg(dim);
            arg(index);
            arg(src);
            toNothing(op_scatter__src);
            return this;
        }
        begin(op_scatter__value);
        arg(this);
        arg(dim);
        arg(index);
        arg(src);
        toNothing(op_scatter__value);
        return this;
    }
    /**
     * aten::scatter_add_(Tensor(a!) self, int dim, Tensor index, Tensor src) -> Tensor(a!)
     */
    scatterAdd_(dim, index, src) {
        begin(op_scatter_add_);
        arg(this);
        arg(dim);
        arg(index);
        arg(src);
        toNothing(op_scatter_add_);
        return this;
    }
    /**
     * aten::take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor
     */
    takeAlongDim(indices, dim) {
        begin(op_take_along_dim);
        arg(this);
        arg(indices);
        arg(dim);
        return toTensor(op_take_along_dim);
    }
    /**
     * aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor
     */
    indexTensor(indices) {
        begin(op_index_Tensor);
        arg(this);
        arg(indices);
        return toTensor(op_index_Tensor);
    }
    /**
     * aten::index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor(a!)
     */
    indexPut_(indices, values, options = {}) {
        begin(op_index_put_);
        arg(this);
        arg(indices);
        arg(values);
        arg(options.accumulate);
        toNothing(op_index_put_);
        return this;
    }
    /**
     * aten::nonzero(Tensor self) -> Tensor
     */
    nonzero() {
        begin(op_nonzero);
        arg(this);
        return toTensor(op_nonzero);
    }
    /**
     * aten::bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor
     */
    bincount(weights, minlength) {
        begin(op_bincount);
        arg(this);
        arg(weights);
        arg(minlength);
        return toTensor(op_bincount);
    }
    /**
     * aten::empty_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
     */
    emptyLike(options = {}) {
        begin(op_empty_like);
        arg(this);
        argDtype(options.dtype);
        arg(undefined);
        argDevice(options.device);
        arg(undefined);
        arg(undefined);
        return toTensor(op_empty_like);
    }
    /**
     * aten::zeros_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
     */
    zerosLike(options = {}) {
        begin(op_zeros_like);
        arg(this);
        argDtype(options.dtype);
        arg(undefined);
        argDevice(options.device);
        arg(undefined);
        arg(undefined);
        return toTensor(op_zeros_like);
    }
    /**
     * aten::ones_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
     */
    onesLike(options = {}) {
        begin(op_ones_like);
        arg(this);
        argDtype(options.dtype);
        arg(undefined);
        argDevice(options.device);
        arg(undefined);
        arg(undefined);
        return toTensor(op_ones_like);
    }
    /**
     * aten::new_zeros(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
     */
    newZeros(size, options = {}) {
        begin(op_new_zeros);
        arg(this);
        arg(size);
        argDtype(options.dtype);
        arg(undefined);
        argDevice(options.device);
        arg(undefined);
        return toTensor(op_new_zeros);
    }
    /**
     * aten::new_empty(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
     */
    newEmpty(size, options = {}) {
        begin(op_new_empty);
        arg(this);
        arg(size);
        argDtype(options.dtype);
        arg(undefined);
        argDevice(options.device);
        arg(undefined);
        return toTensor(op_new_empty);
    }
    /**
     * aten::full_like(Tensor self, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
     */
    fullLike(fillValue, options = {}) {
        begin(op_full_like);
        arg(this);
        arg(fillValue);
        argDtype(options.dtype);
        arg(undefined);
        argDevice(options.device);
        arg(undefined);
        arg(undefined);
        return toTensor(op_full_like);
    }
    /**
     * aten::multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, Generator? generator=None) -> Tensor
     */
    multinomial(numSamples, options = {}) {
        begin(op_multinomial);
        arg(this);
        arg(numSamples);
        arg(options.replacement);
        arg(options.generator);
        return toTensor(op_multinomial);
    }
    /**
     * aten::bernoulli(Tensor self, *, Generator? generator=None) -> Tensor
     * aten::bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor
     */
    bernoulli(p, options = {}) {
        if (p === undefined) {
            begin(op_bernoulli);
            arg(this);
            arg(options.generator);
            return toTensor(op_bernoulli);
        }
        begin(op_bernoulli_p);
        arg(this);
        arg(p);
        arg(options.generator);
        return toTensor(op_bernoulli_p);
    }
    /**
     * aten::uniform_(Tensor(a!) self, float from=0., float to=1., *, Generator? generator=None) -> Tensor(a!)
     */
    uniform_(from, to, options = {}) {
        begin(op_uniform_);
        arg(this);
        arg(from);
        arg(to);
        arg(options.generator);
        toNothing(op_uniform_);
        return this;
    }
    /**
     * aten::normal_(Tensor(a!) self, float mean=0., float std=1., *, Generator? generator=None) -> Tensor(a!)
     */
    normal_(mean, std, options = {}) {
        begin(op_normal_);
        arg(this);
        arg(mean);
        arg(std);
        arg(options.generator);
        toNothing(op_normal_);
        return this;
    }
    /**
     * aten::exponential_(Tensor(a!) self, float lambd=1., *, Generator? generator=None) -> Tensor(a!)
     */
    exponential_(lambd, options = {}) {
        begin(op_exponential_);
        arg(this);
        arg(lambd);
        arg(options.generator);
        toNothing(op_exponential_);
        return this;
    }
    /**
     * aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor
     */
    clone() {
        begin(op_clone);
        arg(this);
        arg(undefined);
        return toTensor(op_clone);
    }
    /**
     * aten::detach(Tensor(a) self) -> Tensor(a)
     */
    detach() {
        begin(op_detach);
        arg(this);
        return toTensor(op_detach);
    }
    /**
     * aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)
     */
    copy_(src, options = {}) {
        begin(op_copy_);
        arg(this);
        arg(src);
        arg(options.nonBlocking);
        toNothing(op_copy_);
        return this;
    }
    /**
     * aten::fill_.Scalar(Tensor(a!) self, Scalar value) -> Tensor(a!)
     * aten::fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)
     */
    fill_(value) {
        if (isNumber(value)) {
            begin(op_fill__Scalar);
            arg(this);
            arg(value);
            toNothing(op_fill__Scalar);
            return this;
        }
        begin(op_fill__Tensor);
        arg(this);
        arg(value);
        toNothing(op_fill__Tensor);
        return this;
    }
    /**
     * aten::zero_(Tensor(a!) self) -> Tensor(a!)
     */
    zero_() {
        begin(op_zero_);
        arg(this);
        toNothing(op_zero_);
        return this;
    }
    /**
     * aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor
     */
    toCopy(options = {}) {
        begin(op__to_copy);
        arg(this);
        argDtype(options.dtype);
        arg(undefined);
        argDevice(options.device);
        arg(undefined);
        arg(options.nonBlocking);
        arg(undefined);
        return toTensor(op__to_copy);
    }
    /**
     * aten::type_as(Tensor self, Tensor other) -> Tensor
     */
    typeAs(other) {
        begin(op_type_as);
        arg(this);
        arg(other);
        return toTensor(op_type_as);
    }
    /**
     * aten::set_data(Tensor(a!) self, Tensor new_data) -> ()
     */
    setData(newData) {
        begin(op_set_data);
        arg(this);
        arg(newData);
        toNothing(op_set_data);
        return;
    }
    /**
     * aten::resize_(Tensor(a!) self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor(a!)
     */
    resize_(size) {
        begin(op_resize_);
        arg(this);
        arg(size);
        arg(undefined);
        toNothing(op_resize_);
        return this;
    }
    /**
     * aten::cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100, float label_smoothing=0.) -> Tensor
     */
    crossEntropyLoss(target, weight, reduction, ignoreIndex, labelSmoothing) {
        begin(op_cross_entropy_loss);
        arg(this);
        arg(target);
        arg(weight);
        arg(reduction);
        arg(ignoreIndex);
        arg(labelSmoothing);
        return toTensor(op_cross_entropy_loss);
    }
    /**
     * aten::nll_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) -> Tensor
     */
    nllLoss(target, weight, reduction, ignoreIndex) {
        begin(op_nll_loss);
        arg(this);
        arg(target);
        arg(weight);
        arg(reduction);
        arg(ignoreIndex);
        return toTensor(op_nll_loss);
    }
    /**
     * aten::mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor
     */
    mseLoss(target, reduction) {
        begin(op_mse_loss);
        arg(this);
        arg(target);
        arg(reduction);
        return toTensor(op_mse_loss);
    }
}
/**
 * aten::dropout(Tensor input, float p, bool train) -> Tensor
 */
export function dropout(input, p, options) {
    begin(op_dropout);
    arg(input);
    arg(p);
    arg(options.train);
    return toTensor(op_dropout);
}
/**
 * aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor
 */
export function linear(input, weight, bias) {
    begin(op_linear);
    arg(input);
    arg(weight);
    arg(bias);
    return toTensor(op_linear);
}
/**
 * aten::einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor
 */
export function einsum(equation, tensors, options = {}) {
    begin(op_einsum);
    arg(equation);
    arg(tensors);
    arg(options.path);
    return toTensor(op_einsum);
}
/**
 * aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor
 */
export function where(condition, self, other) {
    begin(op_where_self);
    arg(condition);
    arg(self);
    arg(other);
    return toTensor(op_where_self);
}
/**
 * aten::cat(Tensor[] tensors, int dim=0) -> Tensor
 */
export function cat(tensors, dim) {
    begin(op_cat);
    arg(tensors);
    arg(dim);
    return toTensor(op_cat);
}
/**
 * aten::stack(Tensor[] tensors, int dim=0) -> Tensor
 */
export function stack(tensors, dim) {
    begin(op_stack);
    arg(tensors);
    arg(dim);
    return toTensor(op_stack);
}
/**
 * aten::searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> Tensor
 */
export function searchsorted(sortedSequence, self, options = {}) {
    begin(op_searchsorted_Tensor);
    arg(sortedSequence);
    arg(self);
    arg(options.outInt32);
    arg(options.right);
    arg(options.side);
    arg(options.sorter);
    return toTensor(op_searchsorted_Tensor);
}
/**
 * aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor
 */
export function embedding(weight, indices, paddingIdx, options = {}) {
    begin(op_embedding);
    arg(weight);
    arg(indices);
    arg(paddingIdx);
    arg(options.scaleGradByFreq);
    arg(options.sparse);
    return toTensor(op_embedding);
}
/**
 * aten::embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, SymInt padding_idx, bool scale_grad_by_freq) -> Tensor
 */
export function embeddingDenseBackward(gradOutput, indices, numWeights, paddingIdx, options) {
    begin(op_embedding_dense_backward);
    arg(gradOutput);
    arg(indices);
    arg(numWeights);
    arg(paddingIdx);
    arg(options.scaleGradByFreq);
    return toTensor(op_embedding_dense_backward);
}
/**
 * aten::empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor
 */
export function empty(size, options = {}) {
    begin(op_empty_memory_format);
    arg(size);
    argDtype(options.dtype);
    arg(undefined);
    argDevice(options.device);
    arg(undefined);
    arg(undefined);
    return toTensor(op_empty_memory_format);
}
/**
 * aten::zeros(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
 */
export function zeros(size, options = {}) {
    begin(op_zeros);
    arg(size);
    argDtype(options.dtype);
    arg(undefined);
    argDevice(options.device);
    arg(undefined);
    return toTensor(op_zeros);
}
/**
 * aten::ones(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
 */
export function ones(size, options = {}) {
    begin(op_ones);
    arg(size);
    argDtype(options.dtype);
    arg(undefined);
    argDevice(options.device);
    arg(undefined);
    return toTensor(op_ones);
}
/**
 * aten::full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
 */
export function full(size, fillValue, options = {}) {
    begin(op_full);
    arg(size);
    arg(fillValue);
    argDtype(options.dtype);
    arg(undefined);
    argDevice(options.device);
    arg(undefined);
    return toTensor(op_full);
}
/**
 * aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
 */
export function arange(start, end, step, options = {}) {
    begin(op_arange_start_step);
    arg(start);
    arg(end);
    arg(step);
    argDtype(options.dtype);
    arg(undefined);
    argDevice(options.device);
    arg(undefined);
    return toTensor(op_arange_start_step);
}
/**
 * aten::rand(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
 * aten::rand.generator(SymInt[] size, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
 */
export function rand(size, options = {}) {
    if (Array.isArray(size) && options.generator === undefined) {
        begin(op_rand);
        arg(size);
        argDtype(options.dtype);
        arg(undefined);
        argDevice(options.device);
        arg(undefined);
        return toTensor(op_rand);
    }
    begin(op_rand_generator);
    arg(size);
    arg(options.generator);
    argDtype(options.dtype);
    arg(undefined);
    argDevice(options.device);
    arg(undefined);
    return toTensor(op_rand_generator);
}
/**
 * aten::randn(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
 * aten::randn.generator(SymInt[] size, *, Generator? generator, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
 */
export function randn(size, options = {}) {
    if (Array.isArray(size) && options.generator === undefined) {
        begin(op_randn);
        arg(size);
        argDtype(options.dtype);
        arg(undefined);
        argDevice(options.device);
        arg(undefined);
        return toTensor(op_randn);
    }
    begin(op_randn_generator);
    arg(size);
    arg(options.generator);
    argDtype(options.dtype);
    arg(undefined);
    argDevice(options.device);
    arg(undefined);
    return toTensor(op_randn_generator);
}
/**
 * aten::randint.low(SymInt low, SymInt high, SymInt[] size, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
 * aten::randint.low_generator(SymInt low, SymInt high, SymInt[] size, *, Generator? generator, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
 */
export function randint(low, high, size, options = {}) {
    if (isNumber(low) && isNumber(high) && Array.isArray(size) && options.generator === undefined) {
        begin(op_randint_low);
        arg(low);
        arg(high);
        arg(size);
        argDtype(options.dtype);
        arg(undefined);
        argDevice(options.device);
        arg(undefined);
        return toTensor(op_randint_low);
    }
    begin(op_randint_low_generator);
    arg(low);
    arg(high);
    arg(size);
    arg(options.generator);
    argDtype(options.dtype);
    arg(undefined);
    argDevice(options.device);
    arg(undefined);
    return toTensor(op_randint_low_generator);
}
/**
 * aten::randperm(SymInt n, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
 * aten::randperm.generator(SymInt n, *, Generator? generator, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
 */
export function randperm(n, options = {}) {
    if (isNumber(n) && options.generator === undefined) {
        begin(op_randperm);
        arg(n);
        argDtype(options.dtype);
        arg(undefined);
        argDevice(options.device);
        arg(undefined);
        return toTensor(op_randperm);
    }
    begin(op_randperm_generator);
    arg(n);
    arg(options.generator);
    argDtype(options.dtype);
    arg(undefined);
    argDevice(options.device);
    arg(undefined);
    return toTensor(op_randperm_generator);
}
/**
 * aten::eye(SymInt n, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor
 */
export function eye(n, options = {}) {
    begin(op_eye);
    arg(n);
    argDtype(options.dtype);
    arg(undefined);
    argDevice(options.device);
    arg(undefined);
    return toTensor(op_eye);
}
/**
 * aten::layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1.0000000000000001e-05, bool cudnn_enable=True) -> Tensor
 */
export function layerNorm(input, normalizedShape, weight, bias, eps, options = {}) {
    begin(op_layer_norm);
    arg(input);
    arg(normalizedShape);
    arg(weight);
    arg(bias);
    arg(eps);
    arg(options.cudnnEnable);
    return toTensor(op_layer_norm);
}
/**
 * aten::rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor
 */
export function rmsNorm(input, normalizedShape, weight, eps) {
    begin(op_rms_norm);
    arg(input);
    arg(normalizedShape);
    arg(weight);
    arg(eps);
    return toTensor(op_rms_norm);
}
/**
 * aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0., bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor
 */
export function scaledDotProductAttention(query, key, value, attnMask, dropoutP, options = {}) {
    begin(op_scaled_dot_product_attention);
    arg(query);
    arg(key);
    arg(value);
    arg(attnMask);
    arg(dropoutP);
    arg(options.isCausal);
    arg(options.scale);
    arg(options.enableGqa);
    return toTensor(op_scaled_dot_product_attention);
}
/**
 * aten::_flash_attention_forward(Tensor query, Tensor key, Tensor value, Tensor? cum_seq_q, Tensor? cum_seq_k, SymInt max_q, SymInt max_k, float dropout_p, bool is_causal, bool return_debug_mask, *, float? scale=None, SymInt? window_size_left=None, SymInt? window_size_right=None, Tensor? seqused_k=None, Tensor? alibi_slopes=None, Tensor? block_table=None, int? num_splits=None) -> (Tensor output, Tensor softmax_logsumexp, Tensor rng_state, Tensor unused, Tensor debug_attn_mask)
 */
export function flashAttentionForward(query, key, value, cumSeqQ, cumSeqK, maxQ, maxK, dropoutP, options) {
    begin(op__flash_attention_forward);
    arg(query);
    arg(key);
    arg(value);
    arg(cumSeqQ);
    arg(cumSeqK);
    arg(maxQ);
    arg(maxK);
    arg(dropoutP);
    arg(options.isCausal);
    arg(options.returnDebugMask);
    arg(options.scale);
    arg(options.windowSizeLeft);
    arg(options.windowSizeRight);
    arg(options.sequsedK);
    arg(options.alibiSlopes);
    arg(options.blockTable);
    arg(options.numSplits);
    return toSeveral(op__flash_attention_forward, 5);
}
/**
 * aten::_flash_attention_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, float dropout_p, bool is_causal, Tensor rng_state, Tensor unused, *, float? scale=None, SymInt? window_size_left=None, SymInt? window_size_right=None) -> (Tensor, Tensor, Tensor)
 */
export function flashAttentionBackward(gradOut, query, key, value, out, logsumexp, cumSeqQ, cumSeqK, maxQ, maxK, dropoutP, options) {
    begin(op__flash_attention_backward);
    arg(gradOut);
    arg(query);
    arg(key);
    arg(value);
    arg(out);
    arg(logsumexp);
    arg(cumSeqQ);
    arg(cumSeqK);
    arg(maxQ);
    arg(maxK);
    arg(dropoutP);
    arg(options.isCausal);
    arg(options.rngState);
    arg(options.unused);
    arg(options.scale);
    arg(options.windowSizeLeft);
    arg(options.windowSizeRight);
    return toSeveral(op__flash_attention_backward, 3);
}
/**
 * aten::_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float dropout_p=0., bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)
 */
export function scaledDotProductFlashAttentionCpu(query, key, value, dropoutP, options = {}) {
    begin(op__scaled_dot_product_flash_attention_for_cpu);
    arg(query);
    arg(key);
    arg(value);
    arg(dropoutP);
    arg(options.isCausal);
    arg(options.attnMask);
    arg(options.scale);
    return toSeveral(op__scaled_dot_product_flash_attention_for_cpu, 2);
}
/**
 * aten::_scaled_dot_product_flash_attention_for_cpu_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out, Tensor logsumexp, float dropout_p, bool is_causal, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor grad_query, Tensor grad_key, Tensor grad_value)
 */
export function scaledDotProductFlashAttentionCpuBackward(gradOut, query, key, value, out, logsumexp, dropoutP, options) {
    begin(op__scaled_dot_product_flash_attention_for_cpu_backward);
    arg(gradOut);
    arg(query);
    arg(key);
    arg(value);
    arg(out);
    arg(logsumexp);
    arg(dropoutP);
    arg(options.isCausal);
    arg(options.attnMask);
    arg(options.scale);
    return toSeveral(op__scaled_dot_product_flash_attention_for_cpu_backward, 3);
}
/**
 * aten::conv1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], SymInt[1] padding=[0], SymInt[1] dilation=[1], SymInt groups=1) -> Tensor
 */
export function conv1d(input, weight, bias, stride, padding, dilation, groups) {
    begin(op_conv1d);
    arg(input);
    arg(weight);
    arg(bias);
    arg(stride);
    arg(padding);
    arg(dilation);
    arg(groups);
    return toTensor(op_conv1d);
}
/**
 * aten::conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] padding=[0, 0], SymInt[2] dilation=[1, 1], SymInt groups=1) -> Tensor
 */
export function conv2d(input, weight, bias, stride, padding, dilation, groups) {
    begin(op_conv2d);
    arg(input);
    arg(weight);
    arg(bias);
    arg(stride);
    arg(padding);
    arg(dilation);
    arg(groups);
    return toTensor(op_conv2d);
}
/**
 * aten::conv3d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], SymInt[3] padding=[0, 0, 0], SymInt[3] dilation=[1, 1, 1], SymInt groups=1) -> Tensor
 */
export function conv3d(input, weight, bias, stride, padding, dilation, groups) {
    begin(op_conv3d);
    arg(input);
    arg(weight);
    arg(bias);
    arg(stride);
    arg(padding);
    arg(dilation);
    arg(groups);
    return toTensor(op_conv3d);
}
/**
 * aten::silu_backward(Tensor grad_output, Tensor self) -> Tensor
 */
export function siluBackward(gradOutput, self) {
    begin(op_silu_backward);
    arg(gradOutput);
    arg(self);
    return toTensor(op_silu_backward);
}
/**
 * aten::silu_backward.grad_input(Tensor grad_output, Tensor self, *, Tensor(a!) grad_input) -> Tensor(a!)
 */
export function siluBackwardOut(gradOutput, self, options) {
    begin(op_silu_backward_grad_input);
    arg(gradOutput);
    arg(self);
    arg(options.gradInput);
    toNothing(op_silu_backward_grad_input);
    return;
}
/**
 * aten::_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor
 */
export function softmaxBackward(gradOutput, output, dim, options) {
    begin(op__softmax_backward_data);
    arg(gradOutput);
    arg(output);
    arg(dim);
    argDtype(options.inputDtype);
    return toTensor(op__softmax_backward_data);
}
/**
 * aten::_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor
 */
export function logSoftmaxBackward(gradOutput, output, dim, options) {
    begin(op__log_softmax_backward_data);
    arg(gradOutput);
    arg(output);
    arg(dim);
    argDtype(options.inputDtype);
    return toTensor(op__log_softmax_backward_data);
}
/**
 * aten::_foreach_mul_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()
 * aten::_foreach_mul_.Tensor(Tensor(a!)[] self, Tensor other) -> ()
 */
export function foreachMul_(self, scalar) {
    if (Array.isArray(self) && isNumber(scalar)) {
        begin(op__foreach_mul__Scalar);
        arg(self);
        arg(scalar);
        toNothing(op__foreach_mul__Scalar);
        return;
    }
    begin(op__foreach_mul__Tensor);
    arg(self);
    arg(scalar);
    toNothing(op__foreach_mul__Tensor);
    return;
}
/**
 * aten::_foreach_add_.List(Tensor(a!)[] self, Tensor[] other, *, Scalar alpha=1) -> ()
 * aten::_foreach_add_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()
 */
export function foreachAdd_(self, other, options = {}) {
    if (Array.isArray(self) && Array.isArray(other)) {
        begin(op__foreach_add__List);
        arg(self);
        arg(other);
        arg(options.alpha);
        toNothing(op__foreach_add__List);
        return;
    }
    begin(op__foreach_add__Scalar);
    arg(self);
    arg(other);
    toNothing(op__foreach_add__Scalar);
    return;
}
/**
 * aten::_foreach_norm.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) -> Tensor[]
 */
export function foreachNorm(self, ord, options = {}) {
    begin(op__foreach_norm_Scalar);
    arg(self);
    arg(ord);
    argDtype(options.dtype);
    return toList(op__foreach_norm_Scalar);
}
/**
 * aten::_foreach_copy_(Tensor(a!)[] self, Tensor[] src, bool non_blocking=False) -> ()
 */
export function foreachCopy_(self, src, options = {}) {
    begin(op__foreach_copy_);
    arg(self);
    arg(src);
    arg(options.nonBlocking);
    toNothing(op__foreach_copy_);
    return;
}
/**
 * aten::_foreach_zero_(Tensor(a!)[] self) -> ()
 */
export function foreachZero_(self) {
    begin(op__foreach_zero_);
    arg(self);
    toNothing(op__foreach_zero_);
    return;
}
/**
 * aten::_foreach_sqrt(Tensor[] self) -> Tensor[]
 */
export function foreachSqrt(self) {
    begin(op__foreach_sqrt);
    arg(self);
    return toList(op__foreach_sqrt);
}
/**
 * aten::_foreach_div_.List(Tensor(a!)[] self, Tensor[] other) -> ()
 */
export function foreachDiv_(self, other) {
    begin(op__foreach_div__List);
    arg(self);
    arg(other);
    toNothing(op__foreach_div__List);
    return;
}
/**
 * aten::_foreach_addcdiv_.Scalar(Tensor(a!)[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar value=1) -> ()
 */
export function foreachAddcdiv_(self, tensor1, tensor2, value) {
    begin(op__foreach_addcdiv__Scalar);
    arg(self);
    arg(tensor1);
    arg(tensor2);
    arg(value);
    toNothing(op__foreach_addcdiv__Scalar);
    return;
}
/**
 * aten::_foreach_addcmul_.Scalar(Tensor(a!)[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar value=1) -> ()
 */
export function foreachAddcmul_(self, tensor1, tensor2, value) {
    begin(op__foreach_addcmul__Scalar);
    arg(self);
    arg(tensor1);
    arg(tensor2);
    arg(value);
    toNothing(op__foreach_addcmul__Scalar);
    return;
}
/**
 * aten::_foreach_lerp_.Scalar(Tensor(a!)[] self, Tensor[] tensors1, Scalar weight) -> ()
 */
export function foreachLerp_(self, tensors1, weight) {
    begin(op__foreach_lerp__Scalar);
    arg(self);
    arg(tensors1);
    arg(weight);
    toNothing(op__foreach_lerp__Scalar);
    return;
}
/**
 * aten::_fused_adamw_(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] exp_avgs, Tensor(d!)[] exp_avg_sqs, Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, *, float lr, float beta1, float beta2, float weight_decay, float eps, bool amsgrad, bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()
 */
export function fusedAdamw_(self, grads, expAvgs, expAvgSqs, maxExpAvgSqs, stateSteps, options) {
    begin(op__fused_adamw_);
    arg(self);
    arg(grads);
    arg(expAvgs);
    arg(expAvgSqs);
    arg(maxExpAvgSqs);
    arg(stateSteps);
    arg(options.lr);
    arg(options.beta1);
    arg(options.beta2);
    arg(options.weightDecay);
    arg(options.eps);
    arg(options.amsgrad);
    arg(options.maximize);
    arg(options.gradScale);
    arg(options.foundInf);
    toNothing(op__fused_adamw_);
    return;
}
/**
 * aten::_fused_sgd_(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] momentum_buffer_list, *, float weight_decay, float momentum, float lr, float dampening, bool nesterov, bool maximize, bool is_first_step, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()
 */
export function fusedSgd_(self, grads, momentumBufferList, options) {
    begin(op__fused_sgd_);
    arg(self);
    arg(grads);
    arg(momentumBufferList);
    arg(options.weightDecay);
    arg(options.momentum);
    arg(options.lr);
    arg(options.dampening);
    arg(options.nesterov);
    arg(options.maximize);
    arg(options.isFirstStep);
    arg(options.gradScale);
    arg(options.foundInf);
    toNothing(op__fused_sgd_);
    return;
}
//# sourceMappingURL=operators.generated.js.map