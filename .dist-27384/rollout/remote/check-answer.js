import { ProtocolError } from './errors.js';
/** Refuses an answer that cannot be right: it must never become a sample. Whose fault it is cannot be known, only that it is wrong. */
export function checkAnswer(answer, attempt, limits) {
    const { ids, logprobs, top, finish, versions } = answer;
    const wrong = (what) => {
        throw new ProtocolError(what);
    };
    const total = limits.before + ids.length;
    if (total > attempt.maxNewTokens)
        wrong(`${total} tokens, where ${attempt.maxNewTokens} were asked for`);
    if (logprobs.length !== ids.length)
        wrong(`${logprobs.length} log-probabilities for ${ids.length} tokens`);
    if (top && top.length !== ids.length)
        wrong(`alternatives for ${top.length} of ${ids.length} tokens`);
    for (let i = 0; i < ids.length; i++) {
        const id = ids[i];
        if (!(Number.isInteger(id) && id >= 0 && id < limits.vocabSize))
            wrong(`token id ${id}, where the vocabulary ends at ${limits.vocabSize - 1}`);
        if (!Number.isFinite(logprobs[i]))
            wrong(`a log-probability of ${logprobs[i]}`);
    }
    if (finish && finish.reason !== 'abort' && total === 0)
        wrong(`no tokens, and it ended by ${finish.reason}`);
    if (versions) {
        let at = 0;
        for (const { start, end } of versions) {
            if (start !== at || end < start)
                wrong('the versions of the weights do not cover the tokens');
            at = end;
        }
        if (at !== total)
            wrong(`the versions of the weights cover ${at} of ${total} tokens`);
    }
}
//# sourceMappingURL=check-answer.js.map