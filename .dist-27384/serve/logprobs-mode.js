import { badRequest } from './errors.js';
/** `raw`: of the model's own distribution. `processed`: of the one the token was drawn from. */
export const logprobsModes = ['raw_logprobs', 'processed_logprobs'];
const toldRaw = ({ raw, top }) => ({ logprob: raw, top });
/**
 * Engines give alternatives with raw log-probabilities. Under the distribution that was drawn from they are `raw / T - c`, with the
 * same constant as the sampled token's, and those a filter left out have none. Which ones `top_p` left out cannot be told from a
 * few of the likeliest: beside it, alternatives are refused.
 */
export function tellingOf(mode, { sampling, alternatives, eosIds }) {
    if (mode === 'raw_logprobs')
        return toldRaw;
    const { temperature = 1, topK = -1, topP = 1, minP = 0 } = sampling.params;
    const { minNewTokens = 0, forbiddenIds = [], stopIds = [], ignoreEos = false } = sampling.params;
    if (alternatives === 0)
        return ({ processed, top }) => ({ logprob: processed, top });
    const greedy = temperature === 0;
    if (!greedy && topP < 1)
        throw badRequest('alternatives (logprobs above 0) are not given beside top_p in the mode processed_logprobs.', 'logprobs');
    const scale = greedy ? 1 : temperature;
    const most = greedy || topK < 0 ? Number.POSITIVE_INFINITY : topK;
    const margin = greedy || minP === 0 ? Number.NEGATIVE_INFINITY : Math.log(minP);
    const never = new Set(forbiddenIds);
    const atFirst = new Set([...never, ...stopIds, ...(ignoreEos ? [] : eosIds)]);
    return ({ index, raw, processed, top }) => {
        if (!top)
            return { logprob: processed, top };
        const forbidden = index < minNewTokens ? atFirst : never;
        const constant = raw / scale - processed;
        let allowed = 0;
        let likeliest;
        const logprobs = top.logprobs.map((value, k) => {
            if (forbidden.has(top.ids[k]))
                return Number.NEGATIVE_INFINITY;
            const scaled = value / scale;
            likeliest ??= scaled;
            return ++allowed > most || scaled < likeliest + margin ? Number.NEGATIVE_INFINITY : scaled - constant;
        });
        return { logprob: processed, top: { ...top, logprobs } };
    };
}
//# sourceMappingURL=logprobs-mode.js.map