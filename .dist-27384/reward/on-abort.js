const callbacks = new WeakMap();
/**
 * Calls back when a signal aborts; returns how to stop that. However many wait on a signal, it gets one listener: Node warns of
 * a leak at eleven, and a batch of thousands of samples shares one signal.
 */
export function onAbort(signal, callback) {
    let waiting = callbacks.get(signal);
    if (!waiting) {
        const set = new Set();
        waiting = set;
        callbacks.set(signal, set);
        const notify = () => {
            for (const one of [...set])
                one();
        };
        signal.addEventListener('abort', notify, { once: true });
    }
    waiting.add(callback);
    return () => waiting.delete(callback);
}
//# sourceMappingURL=on-abort.js.map