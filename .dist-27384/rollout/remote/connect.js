import { EngineError, TransportError } from './errors.js';
const everyMs = 500;
/**
 * Resolves when every server was looked at and one can be used at least. Those that cannot be reached are left to the pool; a
 * server that answers, and lacks what is needed, is an error at once.
 */
export async function connectReplicas(replicas, options) {
    const { onEvent, patienceMs, signal } = options.options;
    const end = performance.now() + patienceMs;
    for (let first = true;; first = false) {
        const reasons = await unlessAborted(Promise.all(replicas.map(replica => connectOne(replica, options))), signal);
        if (replicas.some(({ isConnected }) => isConnected))
            break;
        const why = replicas.map(({ url }, i) => `${url}: ${reasons[i]}`).join('; ');
        if (performance.now() + everyMs > end)
            throw new EngineError(`no server can be reached (${why})`);
        if (first)
            for (const [i, { url }] of replicas.entries())
                onEvent({ kind: 'waiting', url, message: reasons[i] });
        await unlessAborted(new Promise(resolve => setTimeout(resolve, everyMs)), signal);
    }
    const connected = replicas.filter(({ isConnected }) => isConnected);
    const other = connected.find(({ facts }) => facts.logprobs !== connected[0].facts.logprobs);
    if (other)
        throw new EngineError(`${connected[0].url} gives ${connected[0].facts.logprobs} log-probabilities, ${other.url} ${other.facts.logprobs}: start all servers alike`);
}
/** Why it cannot be reached yet; undefined: it can. */
async function connectOne(replica, { dialect, options, recover }) {
    try {
        await recover(replica);
    }
    catch (error) {
        if (error instanceof TransportError)
            return error.message;
        throw error;
    }
    replica.state = 'up';
    options.onEvent({ kind: 'connected', url: replica.url, message: `${dialect.type} ${replica.facts.software}` });
    return undefined;
}
/** Rejects with the signal's reason as soon as it aborts: whoever asked closes what is under way. */
async function unlessAborted(work, signal) {
    if (!signal)
        return work;
    const over = new AbortController();
    const aborted = new Promise((_, reject) => {
        const stop = () => reject(signal.reason);
        if (signal.aborted)
            stop();
        else
            signal.addEventListener('abort', stop, { once: true, signal: over.signal });
    });
    try {
        return await Promise.race([work, aborted]);
    }
    finally {
        over.abort();
    }
}
/** Requests were admitted, and their log-probabilities named, by what the servers were that were there first. */
export function checkFit({ logprobs, maxLength, maxPromptLength }, limits) {
    if (logprobs !== limits.logprobs)
        throw new EngineError(`it gives ${logprobs} log-probabilities, not ${limits.logprobs}: start all servers alike`);
    if (maxLength < limits.maxLength || maxPromptLength < limits.maxPromptLength)
        throw new EngineError(`its context has ${maxLength} tokens, and ${limits.maxLength} are expected: start all servers alike`);
}
//# sourceMappingURL=connect.js.map