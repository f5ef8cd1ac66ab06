/**
 * Resolves when the client has taken what was written, or has gone. One that takes nothing for `stallMs` is let go: what
 * its answer holds is others' to use.
 */
export function untilDrained(response, { signal, stallMs }) {
    if (signal.aborted || response.destroyed || !response.writableNeedDrain)
        return Promise.resolve();
    return new Promise(resolve => {
        const done = () => {
            clearTimeout(timer);
            response.off('drain', done);
            signal.removeEventListener('abort', done);
            resolve();
        };
        const timer = setTimeout(() => response.destroy(), stallMs);
        response.on('drain', done);
        signal.addEventListener('abort', done);
    });
}
//# sourceMappingURL=until-drained.js.map