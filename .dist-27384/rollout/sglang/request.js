/** Added to a logit, it leaves a probability of zero at any temperature. */
const never = -1e9;
/**
 * One prompt, one sample: with several the server drops the request's name, and nothing could end one of them. Every parameter is
 * sent, for what is left out comes from the model's own generation config.
 */
export function generationRequest(attempt, facts) {
    const { id, idsJson, adapter, promptLogprobs, transport, sampling } = attempt;
    const alternatives = Math.max(sampling.topLogprobs ?? 0, promptLogprobs ?? 0);
    const rest = {
        rid: id,
        sampling_params: samplingParams(attempt, facts),
        return_logprob: true,
        // From the first token on, or of the response alone: other values recompute a part, or end the server.
        logprob_start_len: promptLogprobs === undefined ? -1 : 0,
        top_logprobs_num: alternatives,
        stream: transport === 'stream',
        ...(adapter === undefined ? {} : { lora_path: adapter }),
    };
    // The ids as they are: to write them again for each sample of a prompt costs more than all the rest.
    return { path: '/generate', body: `{"input_ids":${idsJson},${JSON.stringify(rest).slice(1)}` };
}
function samplingParams(attempt, facts) {
    const { maxNewTokens, minNewTokens, temperature, seed, sampling } = attempt;
    const { topK, topP, minP, stop, stopIds, ignoreEos, forbiddenIds, structured, text } = sampling;
    // Found once more on our side: here they end the request in time. Before the least of tokens they would end it too.
    const endsByText = facts.tokenizer === true && stop.length > 0 && minNewTokens === 0;
    return {
        max_new_tokens: maxNewTokens,
        min_new_tokens: Math.min(minNewTokens, maxNewTokens),
        temperature,
        top_k: topK,
        top_p: topP,
        min_p: minP,
        frequency_penalty: 0,
        presence_penalty: 0,
        repetition_penalty: 1,
        n: 1,
        // It would also ignore `stop_token_ids`: with them the end of sequence ends a request, which is then asked to go on.
        ignore_eos: ignoreEos && stopIds.length === 0,
        stop_token_ids: stopIds,
        ...(endsByText ? { stop, skip_special_tokens: text !== 'with-special' } : {}),
        ...(forbiddenIds.length > 0 ? { logit_bias: Object.fromEntries(forbiddenIds.map(id => [id, never])) } : {}),
        // Without deterministic inference a seed is taken and forgotten, and older servers do not know the word.
        ...(facts.seeds === 'position' ? { sampling_seed: seed } : {}),
        ...(structured === undefined ? {} : form(structured)),
    };
}
function form(structured) {
    if (structured.kind === 'regex')
        return { regex: structured.pattern };
    if (structured.kind === 'ebnf')
        return { ebnf: structured.grammar };
    return { json_schema: JSON.stringify(structured.schema) };
}
//# sourceMappingURL=request.js.map