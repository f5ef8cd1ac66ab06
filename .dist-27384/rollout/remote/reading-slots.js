/**
 * Answers in memory at once. A thousand that come together are read a few after another; the others wait in the network, where
 * they cost nothing. Without this the memory grows with what is in flight, and the garbage collector with it.
 */
const mostAtOnce = 48;
/** A server that stops in the middle of an answer holds nobody up for longer. */
const longestWaitMs = 500;
let taken = 0;
const waiting = new Set();
export function readingSlot(begin) {
    let isOver = false;
    const waits = taken >= mostAtOnce;
    let hasSlot = !waits;
    const go = () => {
        clearTimeout(timer);
        waiting.delete(go);
        if (isOver || hasSlot)
            return;
        hasSlot = true;
        taken++;
        begin();
    };
    const timer = waits ? setTimeout(go, longestWaitMs) : undefined;
    if (waits)
        waiting.add(go);
    else
        taken++;
    return {
        waits,
        release: () => {
            if (isOver)
                return;
            isOver = true;
            clearTimeout(timer);
            waiting.delete(go);
            if (!hasSlot)
                return;
            taken--;
            for (const next of waiting) {
                if (taken >= mostAtOnce)
                    break;
                next();
            }
        },
    };
}
//# sourceMappingURL=reading-slots.js.map