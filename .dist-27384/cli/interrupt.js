const codes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 };
/**
 * Runs work that Ctrl-C, a polite kill or a closed terminal stops cleanly: it is told through its signal and cleans up. Answers
 * with the exit code: the work's own (0 where it gives none), or that of the interruption.
 */
export async function interruptible(options) {
    const stop = new AbortController();
    let interrupted;
    const handlers = Object.entries(codes).map(([name, code]) => {
        const handler = () => {
            interrupted = code;
            // A terminal that is gone takes no more text, which must not keep anything from being cleaned up.
            if (name === 'SIGHUP')
                for (const stream of [process.stdout, process.stderr])
                    stream.on('error', () => { });
            stop.abort(new Error('interrupted'));
        };
        // Once: a second Ctrl-C ends the process even if cleaning up hangs.
        process.once(name, handler);
        return { name, handler };
    });
    try {
        return (await options.work(stop.signal)) ?? 0;
    }
    catch (error) {
        if (interrupted === undefined)
            throw error;
        options.onInterrupt();
        return interrupted;
    }
    finally {
        for (const { name, handler } of handlers)
            process.off(name, handler);
    }
}
/** Resolves at the first signal that asks the process to end. */
export function endSignal() {
    return new Promise(resolve => {
        for (const name of Object.keys(codes))
            process.once(name, () => resolve());
    });
}
//# sourceMappingURL=interrupt.js.map