/** vLLM takes no more stop strings (0.28 and later). They are found again in the text made here, and so are those after them. */
const mostStops = 4;
/** The strongest bias there is; it leaves nothing of any logit. */
const forbids = -100;
/** The fields that both routes have. */
function samplingFields(attempt, route) {
    const { sampling, promptLogprobs } = attempt;
    const { topK, topP, minP, stop, stopIds, ignoreEos, forbiddenIds, topLogprobs = 0, structured } = sampling;
    return {
        n: 1,
        max_tokens: attempt.maxNewTokens,
        min_tokens: attempt.minNewTokens,
        temperature: attempt.temperature,
        top_p: topP,
        top_k: topK,
        min_p: minP,
        seed: attempt.seed,
        stop: stop.slice(0, mostStops),
        stop_token_ids: stopIds,
        ignore_eos: ignoreEos,
        include_stop_str_in_output: false,
        skip_special_tokens: sampling.text !== 'with-special',
        presence_penalty: 0,
        frequency_penalty: 0,
        repetition_penalty: 1,
        // The route of tokens counts the sampled one among them.
        logprobs: topLogprobs > 0 && route === 'tokens' ? topLogprobs + 1 : topLogprobs,
        ...(promptLogprobs === undefined ? {} : { prompt_logprobs: promptLogprobs }),
        ...(forbiddenIds.length === 0 ? {} : { logit_bias: Object.fromEntries(forbiddenIds.map(id => [id, forbids])) }),
        ...(structured ? { structured_outputs: structuredFields(structured) } : {}),
    };
}
function structuredFields(structured) {
    switch (structured.kind) {
        case 'regex':
            return { regex: structured.pattern };
        case 'json-schema':
            return { json: structured.schema };
        case 'ebnf':
            return { grammar: structured.grammar };
    }
}
/** Written around the prompt's ids, which are JSON already. */
export function generationBody(attempt, facts) {
    const head = JSON.stringify({
        model: attempt.adapter ?? facts.model,
        request_id: attempt.id,
        ...(attempt.transport === 'stream' ? { stream: true } : {}),
    }).slice(0, -1);
    const fields = samplingFields(attempt, facts.route);
    if (facts.route === 'tokens') {
        const params = JSON.stringify({ ...fields, detokenize: attempt.sampling.stop.length > 0 });
        return {
            path: '/inference/v1/generate',
            body: `${head},"token_ids":${attempt.idsJson},"sampling_params":${params}}`,
        };
    }
    const params = JSON.stringify({ ...fields, return_token_ids: true, return_tokens_as_token_ids: true });
    return { path: '/v1/completions', body: `${head},"prompt":${attempt.idsJson},${params.slice(1)}` };
}
//# sourceMappingURL=generation.js.map