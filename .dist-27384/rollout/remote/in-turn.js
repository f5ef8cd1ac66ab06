/**
 * Work that many wait for, a few milliseconds at a time: a thousand answers that come at once would else hold up timers and
 * everybody else's requests for a second.
 */
/** What is done before others have their turn. */
const sliceMs = 3;
const queue = [];
let isScheduled = false;
export function inTurn(work) {
    return new Promise((resolve, reject) => {
        queue.push(() => {
            try {
                resolve(work());
            }
            catch (error) {
                reject(error);
            }
        });
        schedule();
    });
}
function schedule() {
    if (isScheduled)
        return;
    isScheduled = true;
    setImmediate(drain);
}
function drain() {
    isScheduled = false;
    let done = 0;
    for (const end = performance.now() + sliceMs; done < queue.length && performance.now() < end;)
        queue[done++]();
    // Now, not when all is done: under load that never is, and what is done would be held for ever.
    queue.splice(0, done);
    if (queue.length > 0)
        schedule();
}
//# sourceMappingURL=in-turn.js.map