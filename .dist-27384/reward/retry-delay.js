const firstMs = 200;
const longestMs = 20_000;
/**
 * Milliseconds to wait after the given attempt: what the other side asked for, or twice as long each time, with half of it left
 * to chance so that callers who failed together do not come back together.
 */
export function retryDelay(attempt, asked, random) {
    if (asked !== undefined)
        return asked;
    return Math.min(longestMs, firstMs * 2 ** (attempt - 1)) * (0.5 + random() / 2);
}
//# sourceMappingURL=retry-delay.js.map