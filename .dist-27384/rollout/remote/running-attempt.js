import { checkAnswer } from './check-answer.js';
import { EngineError, ProtocolError, RefusalError, TransportError } from './errors.js';
import { EventLines } from './event-lines.js';
import { inTurn } from './in-turn.js';
import { isLong, parseLong, parseShort } from './parse-long.js';
export class RunningAttempt {
    attempt;
    task;
    replica;
    startedAt = performance.now();
    /** Of the weights the server had when this was sent. */
    version;
    /** Tokens of the sample when this was sent. */
    offset;
    /** The server was told to end it: that it has no token yet is nobody's fault. */
    isBrokenOff = false;
    /** Resolves when it has ended, however. */
    done = Promise.resolve();
    exchange;
    cancelled;
    finish;
    otherWeights;
    constructor(attempt, task, replica) {
        this.attempt = attempt;
        this.task = task;
        this.replica = replica;
        this.version = replica.version;
        this.offset = task.record.length;
    }
    get tokens() {
        return this.task.record.length - this.offset;
    }
    /** It was held for so long, which is no time it took. */
    excuse(heldMs) {
        this.startedAt = Math.min(performance.now(), this.startedAt + heldMs);
    }
    /** Ends the connection; by it the server notices. */
    cancel(reason) {
        this.cancelled ??= reason;
        this.exchange?.cancel();
    }
    start(options, onEnd) {
        this.done = this.run(options).then(onEnd);
    }
    async run({ dialect, vocabSize, timeoutMs, onTokens }) {
        const { attempt, replica } = this;
        const { path, body } = dialect.generation(attempt, replica.facts);
        const sent = { method: 'POST', path, body, timeoutMs };
        try {
            if (attempt.transport === 'stream')
                await this.stream(dialect, { vocabSize, onTokens }, sent);
            else {
                this.exchange = replica.server.exchange({ ...sent, reads: 'in turn' });
                const given = await readAnswer(await this.exchange.reply, dialect, attempt, replica);
                if (!given.finish)
                    throw new ProtocolError('an answer without an end');
                checkAnswer(given, attempt, { vocabSize, before: 0 });
                const answer = this.task.read(given);
                const spans = this.versionsOf(answer);
                if (typeof spans === 'string')
                    return { kind: 'other-weights', message: spans, tokens: 0 };
                onTokens(answer.ids.length);
                await this.task.append(answer, this.version);
                if (spans)
                    this.task.record.restamp(this.offset, spans);
                this.finish = answer.finish;
            }
        }
        catch (error) {
            return this.ended(error);
        }
        return { kind: 'ended', finish: this.finish, tokens: this.tokens };
    }
    async stream(dialect, { vocabSize, onTokens }, sent) {
        const { attempt, replica, task } = this;
        const lines = new EventLines();
        const read = dialect.reader(attempt, replica.facts);
        const waiting = [];
        const take = (answer) => {
            checkAnswer(answer, attempt, { vocabSize, before: this.tokens });
            const spans = this.versionsOf(answer);
            if (typeof spans === 'string') {
                this.otherWeights = spans;
                throw new ProtocolError(spans);
            }
            onTokens(answer.ids.length);
            const waits = task.append(answer, replica.version ?? this.version);
            if (waits)
                waiting.push(waits);
            if (spans)
                task.record.restamp(this.offset, spans);
            this.finish ??= answer.finish;
            replica.lastHeard = performance.now();
        };
        const onPiece = (piece) => {
            for (const event of lines.push(piece)) {
                const answer = this.finish || task.stopFound ? undefined : read(event);
                if (answer)
                    take(answer);
            }
            if (lines.pending > longestEvent)
                throw new ProtocolError(`an event of more than ${longestEvent} characters`);
            if (task.stopFound)
                this.exchange.cancel();
        };
        this.exchange = replica.server.exchange({ ...sent, onPiece });
        try {
            checkStatus(await this.exchange.reply, dialect, replica);
        }
        catch (error) {
            if (!task.stopFound)
                throw error;
        }
        finally {
            await Promise.all(waiting);
        }
        const { stopFound } = task;
        if (stopFound) {
            task.record.truncate(stopFound.end);
            this.finish = { reason: 'stop', stop: stopFound.stop };
        }
        if (!this.finish)
            throw new ProtocolError('a stream that ended before the response did');
    }
    /** In our versions, where the server marks them; a text says why they cannot be right. */
    versionsOf({ versions }) {
        const { replica, attempt } = this;
        if (!versions || !replica.marksVersions || attempt.adapter !== undefined)
            return undefined;
        const spans = [];
        for (const { version: marker, start, end } of versions) {
            const version = replica.markers.get(marker);
            if (version === undefined || version < this.version)
                return `the server answered with weights called "${marker}", which are not those it was given`;
            spans.push({ version, start, end });
        }
        return spans;
    }
    ended(error) {
        if (error instanceof RefusedReply)
            return { kind: 'refused', refusal: error.refusal, status: error.status };
        if (error instanceof RefusalError)
            return { kind: 'refused', refusal: error.refusal, status: 200 };
        if (this.otherWeights !== undefined)
            return { kind: 'other-weights', message: this.otherWeights, tokens: this.tokens };
        if (this.cancelled)
            return { kind: 'cancelled', reason: this.cancelled };
        if (error instanceof TransportError || error instanceof ProtocolError)
            return { kind: 'failed', error };
        if (error instanceof EngineError)
            return { kind: 'failed', error: new ProtocolError(error.message) };
        // A defect of ours, in a sample's own words rather than nowhere.
        return { kind: 'failed', error: new ProtocolError(String(error?.stack ?? error)) };
    }
}
const longestEvent = 64 << 20;
async function readAnswer(reply, dialect, attempt, replica) {
    const { facts } = replica;
    try {
        const { text } = checkStatus(reply, dialect, replica);
        if (isLong(text))
            return dialect.answer(await parseLong(text), attempt, facts);
        return await inTurn(() => dialect.quickAnswer?.(text, attempt, facts) ?? dialect.answer(parseShort(text), attempt, facts));
    }
    finally {
        reply.release();
    }
}
class RefusedReply extends RefusalError {
    status;
    constructor(refusal, status) {
        super(refusal);
        this.status = status;
    }
}
function checkStatus(reply, dialect, { server }) {
    const { status, text, retryAfter } = reply;
    if (status >= 200 && status <= 299)
        return reply;
    throw new RefusedReply(dialect.refusal(status, server.hide(text), retryAfter), status);
}
//# sourceMappingURL=running-attempt.js.map