/**
 * Who is let in. Everything a request will hold is known before it starts, and the sums of all in flight have limits: a
 * request that could never fit is refused for good (400), one that does not fit now is asked to come back (429).
 */
import { ApiError, badRequest } from './errors.js';
import { describeCost, megabytes } from './request-cost.js';
/** Of one request: prompts times `n`. */
export const maxSamplesOfRequest = 4096;
/** Limits of the whole server, and what is taken of them. */
export class Admission {
    limits;
    requests = 0;
    samples = 0;
    bytes = 0;
    bodyBytes = 0;
    constructor(limits) {
        this.limits = limits;
    }
    /** What one request takes; it is given back with `release`. */
    ticket() {
        return new Ticket(this);
    }
}
const later = (message) => new ApiError(429, message, { headers: { 'retry-after': '1' } });
export class Ticket {
    all;
    requests = 0;
    samples = 0;
    bytes = 0;
    bodyBytes = 0;
    constructor(all) {
        this.all = all;
    }
    /** Memory for a part of the body. */
    take(bytes) {
        const { all } = this;
        const limit = all.limits.maxBodyBytes;
        if (all.bodyBytes + bytes > limit)
            throw later(`the bodies of all requests have ${all.bodyBytes} bytes; ${limit} is the limit`);
        all.bodyBytes += bytes;
        this.bodyBytes += bytes;
    }
    /** A place among the requests that are answered; taken when a body is complete. */
    enter() {
        const { all } = this;
        const { maxRequests } = all.limits;
        if (all.requests >= maxRequests)
            throw later(`too many requests at once: ${all.requests} are being answered, ${maxRequests} is the limit`);
        all.requests++;
        this.requests++;
    }
    /** What the request will hold while it runs. */
    admit(cost) {
        const { all } = this;
        const { maxRequestBytes, maxTotalBytes, maxSamples } = all.limits;
        const ofOne = Math.min(maxSamplesOfRequest, maxSamples);
        if (cost.samples > ofOne)
            throw badRequest(`a request may have ${ofOne} choices in all, this one has ${cost.samples}.`, 'n');
        const most = Math.min(maxRequestBytes, maxTotalBytes);
        if (cost.bytes > most)
            throw badRequest(`this request and its answer may take ${describeCost(cost)}; the limit is ${megabytes(most)}. Ask for fewer prompts, choices, tokens (max_tokens) or log-probabilities.`);
        if (all.samples + cost.samples > maxSamples)
            throw later(`${all.samples} choices are being generated; with ${cost.samples} more, ${maxSamples} is the limit`);
        if (all.bytes + cost.bytes > maxTotalBytes)
            throw later(`this request may take ${describeCost(cost)}; ${megabytes(all.bytes)} of ${megabytes(maxTotalBytes)} are taken by others`);
        all.samples += cost.samples;
        this.samples += cost.samples;
        all.bytes += cost.bytes;
        this.bytes += cost.bytes;
    }
    /** Gives everything back; a second time there is nothing. */
    release() {
        this.all.requests -= this.requests;
        this.all.samples -= this.samples;
        this.all.bytes -= this.bytes;
        this.all.bodyBytes -= this.bodyBytes;
        this.requests = this.samples = this.bytes = this.bodyBytes = 0;
    }
}
//# sourceMappingURL=admission.js.map