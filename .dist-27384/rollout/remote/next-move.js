/** How many attempts of a kind may fail before the sample does. */
const most = { protocol: 3, server: 5, timeout: 2, broken: 8, fruitless: 20 };
export function nextMove(running, end) {
    const { task, attempt, replica } = running;
    const { failures, record } = task;
    const failed = (kind, reason, message) => ++failures[kind] >= most[kind]
        ? { kind: 'fail', reason, message: `${message}${most[kind] > 1 ? ` (${most[kind]} attempts)` : ''}` }
        : { kind: 'again', elsewhere: true, message };
    const abort = { kind: 'finish', reason: 'abort', stop: undefined };
    switch (end.kind) {
        case 'ended': {
            const { reason, stop } = end.finish;
            if (reason === 'stop')
                return { kind: 'finish', reason, stop };
            if (record.length >= task.maxNewTokens)
                return { kind: 'finish', reason: 'length', stop: undefined };
            if (task.isAborted)
                return abort;
            // Cut short by the server's own limits, or the whole of what this attempt asked for.
            if (reason === 'length')
                return end.tokens < attempt.maxNewTokens
                    ? { kind: 'finish', reason: 'length', stop: undefined }
                    : { kind: 'again', elsewhere: false };
            if (end.tokens > 0 || running.isBrokenOff)
                return { kind: 'again', elsewhere: false };
            return failed('fruitless', 'engine', `${replica.url}: the server ended the request without a token`);
        }
        case 'cancelled':
            return end.reason === 'aborted' || end.reason === 'closed' || task.isAborted
                ? abort
                : { kind: 'again', elsewhere: end.reason === 'drained' };
        case 'other-weights':
            // What was told cannot be taken back, and nobody knows which weights made it.
            if (end.tokens > 0)
                return { kind: 'fail', reason: 'protocol', message: `${replica.url}: ${end.message}` };
            return { kind: 'again', elsewhere: true, message: end.message };
        case 'refused': {
            const { refusal, status } = end;
            const message = `${replica.url}: ${refusal.message}`;
            if (task.isAborted)
                return abort;
            if (refusal.kind === 'prompt-too-long')
                return record.length > 0
                    ? { kind: 'finish', reason: 'length', stop: undefined }
                    : { kind: 'reject', message: refusal.message };
            if (refusal.kind === 'refused')
                return { kind: 'fail', reason: 'engine', message };
            if (refusal.kind === 'unknown-weights')
                return { kind: 'again', elsewhere: true, message };
            // Busy is no failure; how long one waits for that is the pool's matter.
            if (status === 429 || refusal.afterMs !== undefined)
                return { kind: 'again', elsewhere: true, busy: message };
            return failed('server', 'engine', message);
        }
        case 'failed': {
            const { error } = end;
            if (task.isAborted)
                return abort;
            if (!('kind' in error))
                return failed('protocol', 'protocol', `${replica.url}: ${error.message}`);
            return error.kind === 'timeout'
                ? failed('timeout', 'timeout', error.message)
                : failed('broken', 'unreachable', error.message);
        }
    }
}
//# sourceMappingURL=next-move.js.map