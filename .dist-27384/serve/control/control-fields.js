/** The bodies of control routes. Those that are not here have none. */
import { flag, object, string, strings } from '../field-schemas.js';
import { harmless, honoured, refused } from '../request-shape.js';
export const collectiveRpcFields = {
    method: honoured(string, 'reload_weights; any other is a 501'),
    kwargs: honoured(object, 'see below'),
    args: refused('reload_weights takes kwargs', []),
    timeout: harmless('the client’s own deadline ends its waiting'),
};
export const reloadWeightsFields = {
    weights_path: honoured(string, 'a model directory under `--weights-root`, absolute or from there on'),
    weights_iterator: refused('weights come from a directory'),
    is_checkpoint_format: refused('weights are in the names and shapes of their checkpoint', true),
};
export const weightVersionFields = {
    new_version: honoured(string, 'up to 256 characters'),
};
export const abortFields = {
    request_ids: honoured(strings, 'ids of answers, or `id-k` for prompt k of one; none: all'),
};
export const loadAdapterFields = {
    lora_name: honoured(string, 'up to 256 characters'),
    lora_path: honoured(string, 'a directory in PEFT’s format under `--weights-root`'),
    load_inplace: honoured(flag, 'in the place of one of the same name'),
    is_3d_lora_weight: refused('adapters are of two matrices', false),
};
export const unloadAdapterFields = {
    lora_name: honoured(string),
    lora_int_id: harmless('adapters go by their names'),
};
//# sourceMappingURL=control-fields.js.map