import { LazyList } from './write-json.js';
/** Tokens as text, each decoded once for all requests. */
export class TokenTexts {
    tokenizer;
    known = new Map();
    constructor(tokenizer) {
        this.tokenizer = tokenizer;
    }
    /** As `token_id:N` where that was asked for, or where there is no tokenizer. */
    show(asIds) {
        const { tokenizer, known } = this;
        if (asIds || !tokenizer)
            return async () => id => `token_id:${id}`;
        return async (ids) => {
            const missing = new Set();
            for (const id of ids)
                if (!known.has(id))
                    missing.add(id);
            if (missing.size > 0)
                await Promise.all(Array.from(missing, async (id) => known.set(id, await tokenizer.decode([id]))));
            return id => known.get(id);
        };
    }
}
/** JSON has no infinities; this is what vLLM writes. */
export const finite = (value) => (Number.isFinite(value) ? value : -9999);
export const scoresOf = ({ responseIds, logprobs, topLogprobs }, told) => ({
    length: responseIds.length,
    at: index => ({
        id: responseIds[index],
        ...told({ index, raw: logprobs.raw?.[index], processed: logprobs.processed?.[index], top: topLogprobs?.[index] }),
    }),
});
/** Of the prompt; the engine was asked for them. */
export const promptScoresOf = ({ promptIds, promptLogprobs }) => ({
    length: promptIds.length,
    at: i => ({
        id: promptIds[i],
        logprob: i === 0 ? undefined : promptLogprobs.logprobs[i - 1],
        top: promptLogprobs.top[i - 1],
    }),
});
/** `start`: how many tokens of the response came before them. */
export const scoresOfEvents = (events, start, told) => ({
    length: events.length,
    at: i => {
        const { id, raw, processed, top } = events[i];
        return { id, ...told({ index: start + i, raw, processed, top }) };
    },
});
export const joined = (first, second) => ({
    length: first.length + second.length,
    at: i => (i < first.length ? first.at(i) : second.at(i - first.length)),
});
/** The scores from `start` on, and every id in them. */
function slice(scores, start, end) {
    const batch = [];
    const ids = [];
    for (let i = start; i < end; i++) {
        const score = scores.at(i);
        batch.push(score);
        ids.push(score.id);
        if (score.top)
            for (const id of score.top.ids)
                ids.push(id);
    }
    return { batch, ids };
}
/** For few: an array. */
export async function rowsNow(scores, show) {
    const { batch, ids } = slice(scores, 0, scores.length);
    const textOf = await show(ids);
    return row => batch.map(score => row(score, textOf));
}
/** Tokens of a long list that are written in one go, so that it leaves others their turn. */
const batchSize = 64;
/** Tokens of a list that is short: it is made at once. */
const shortSize = 512;
/** For any number: made as they are written. Short lists of the same scores share the work. */
export function rowsLater(scores, show) {
    if (scores.length <= shortSize) {
        let few;
        return row => new LazyList(async function* () {
            few ??= rowsNow(scores, show);
            yield (await few)(row);
        });
    }
    return row => new LazyList(async function* () {
        for (let start = 0; start < scores.length; start += batchSize) {
            const { batch, ids } = slice(scores, start, Math.min(start + batchSize, scores.length));
            const textOf = await show(ids);
            yield batch.map(score => row(score, textOf));
        }
    });
}
/** The log-probabilities of `/v1/completions`. `offset` is where the text of the first token begins. */
export function completionLogprobs(rows, offset = 0) {
    let at = offset;
    return {
        text_offset: rows(({ id }, textOf) => {
            const here = at;
            at += textOf(id).length;
            return here;
        }),
        token_logprobs: rows(({ logprob }) => (logprob === undefined ? null : finite(logprob))),
        tokens: rows(({ id }, textOf) => textOf(id)),
        top_logprobs: rows(({ id, logprob, top }, textOf) => {
            if (logprob === undefined)
                return null;
            const likeliest = Array.from(top?.ids ?? [], (each, k) => [
                textOf(each),
                finite(top.logprobs[k]),
            ]);
            return Object.fromEntries([[textOf(id), finite(logprob)], ...likeliest]);
        }),
    };
}
/** The log-probabilities of `/v1/chat/completions`. */
export function chatLogprobs(rows) {
    const entry = (token, logprob) => ({
        token,
        logprob: finite(logprob),
        bytes: Array.from(Buffer.from(token)),
    });
    const content = rows(({ id, logprob, top }, textOf) => ({
        ...entry(textOf(id), logprob),
        top_logprobs: Array.from(top?.ids ?? [], (each, k) => entry(textOf(each), top.logprobs[k])),
    }));
    return { content };
}
/** `prompt_logprobs`: null for the first token, then each token's own and the likeliest, by id. */
export function promptLogprobs(sample, show) {
    return rowsLater(promptScoresOf(sample), show)(({ id, logprob, top }, textOf) => {
        if (logprob === undefined || !top)
            return null;
        const row = {};
        top.ids.forEach((each, k) => {
            row[each] = { logprob: finite(top.logprobs[k]), rank: k + 1, decoded_token: textOf(each) };
        });
        row[id] ??= { logprob: finite(logprob), rank: top.rank, decoded_token: textOf(id) };
        return row;
    });
}
//# sourceMappingURL=token-text.js.map